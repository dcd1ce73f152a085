"""Of a dead job: of what it died, what its letter is, and what helps; and who ended those that did not run."""

from __future__ import annotations

import pytest

from dlq.models import DeadLetter
from jobops.contracts.secret_values import DOTS
from jobops.engine.client import Engine
from jobops.engine.payload import encode
from jobops.engine.records import Outcome
from jobops.runtime.job_actions import job_cancel
from jobops.runtime.why_records import Kind, Link
from jobops.scheduling.duties import Context
from jobops.steward import intake
from tenants.models import Tenant
from tests.runtime.asking import ask, text
from tests.runtime.factory import claim, run_all, settle
from tests.runtime.test_why_waiting import policy, put, reason, told

pytestmark = pytest.mark.django_db(transaction=True)


def died(engine: Engine, outcome: Outcome, **fields: object) -> str:
    (job,) = put(max_attempts=1, **fields)
    run_all(engine, outcome)
    return job


@pytest.mark.parametrize(
    ("cause", "says"),
    [
        ("error", "It gave up after 1 attempt, which is all that it may start: HTTPError: 503"),
        ("poison", "It gave up at attempt 1, as a further one would end the same (poison): HTTPError: 503"),
        ("timeout", "It gave up after 1 attempt; the last one ran into its time-out: HTTPError: 503"),
        ("worker_lost", "It gave up after 1 attempt; the worker of the last one was lost: HTTPError: 503"),
        ("unresolvable", "It could not be run at all: HTTPError: 503"),
    ],
)
def test_a_dead_job_says_of_what_it_died_and_what_became_of_its_letter(both: Engine, cause: str, says: str) -> None:
    job = died(both, Outcome.failed(cause, "HTTPError", "503"))  # type: ignore[arg-type]
    assert told(job).headline == f"{says}. Its dead letter is being written."
    intake.run(Context(both))
    letter = DeadLetter.objects.get()
    dead = reason(job, Kind.DEAD)
    assert dead.text == f"{says}. Dead letter {letter.pk} is open, owned by {letter.owner}."
    assert (dead.until, dead.link) == (letter.due_at, Link("letter", str(letter.pk)))
    both.redis.flushall()
    assert reason(job, Kind.DEAD).text == dead.text


def test_what_is_secret_in_its_error_is_masked(both: Engine) -> None:
    """SE-06"""
    secret = encode("tests.echo", (), {"token": "s3cret-value"})
    job = died(both, Outcome.failed("error", "E", "no s3cret-value"), data=secret)
    assert f"E: no {DOTS}" in told(job).headline
    intake.run(Context(both))
    both.redis.flushall()
    assert f"E: no {DOTS}" in told(job).headline


def test_a_replay_is_offered_with_its_command(both: Engine) -> None:
    job = died(both, Outcome.failed("error", "E", "e"))
    intake.run(Context(both))
    letter = DeadLetter.objects.get()
    assert told(job).actions == ("replay", "discard")
    assert f"  replay it: manage.py dlq replay {letter.pk}\n" in text("jobs", "why", job)
    helps = ask("jobs", "why", job)["helps"]
    assert helps[0] == {"action": "replay", "what": "replay it", "command": f"manage.py dlq replay {letter.pk}"}


def test_of_poison_the_cause_comes_before_the_replay(both: Engine) -> None:
    job = died(both, Outcome.failed("poison", "E", "e"))
    intake.run(Context(both))
    assert told(job).helps[0].what.startswith("mend the code or the data")


def test_where_code_is_missing_a_deploy_is_what_helps(both: Engine) -> None:
    job = died(both, Outcome.failed("unresolvable", "UnknownJobType", "no job type is called x"), job_type="tests.gone")
    intake.run(Context(both))
    found = told(job)
    assert found.actions == ("deploy worker", "discard")
    assert (
        found.helps[0].what == "deploy code that has the job type tests.gone, to the workers and here; then replay it"
    )
    assert "UnknownJobType: no job type is called x" in found.headline


def test_a_letter_that_cannot_be_replayed_says_why(both: Engine) -> None:
    job = died(both, Outcome.failed("error", "E", "e"))
    intake.run(Context(both))
    Tenant.objects.update(intake_closed=True)
    found = told(job)
    assert found.actions == ("discard",)
    assert "takes no jobs at present; its intake is closed" in found.helps[0].what


def test_a_dropped_job_says_which_one_took_its_place(both: Engine) -> None:
    policy(both, depth_limit=1)
    (old,) = put(key="k", on_full="drop_oldest")
    (new,) = put(key="k", on_full="drop_oldest")
    dropped = reason(old, Kind.DROPPED)
    assert dropped.text == (
        f"It gave way to job {new}, a newer one of its key, as its tenant was at its depth limit (drop_oldest)."
    )
    assert (dropped.by, dropped.link) == (new, Link("job", new))


def test_a_cancelled_job_says_by_whom(both: Engine) -> None:
    (job,) = put()
    job_cancel(job_id=job, by="command:anna", reason="a double")
    cancelled = reason(job, Kind.CANCELLED)
    assert (cancelled.text, cancelled.by) == (
        "It was cancelled by command:anna before it ran: a double.",
        "command:anna",
    )


def test_a_stopped_job_is_not_said_to_be_stopped_twice(both: Engine) -> None:
    (job,) = put()
    running = claim(both)
    assert running is not None
    both.scripts.stop(job, note="stopped by anna: wrong file")
    settle(both, running, Outcome.failed("error", "E", "e"))
    assert ask("jobs", "show", job)["error"] == "stopped by anna: wrong file"
