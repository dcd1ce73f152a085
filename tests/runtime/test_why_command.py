"""``manage.py jobs why|stop|run-now``."""

from __future__ import annotations

import re

import pytest

from jobops.audit.models import AuditEntry
from jobops.context import outbox
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.runtime.why import why
from jobops.runtime.why_records import Kind
from jobops.scheduling.duties import Context
from jobops.steward import intake
from tests.runtime.announced import worker
from tests.runtime.asking import ask, refusal, text
from tests.runtime.conftest import Outage
from tests.runtime.factory import claim, new_job, run_all
from tests.runtime.test_why_waiting import policy, put, told

pytestmark = pytest.mark.django_db(transaction=True)
HOUR_MS = 3_600_000


def test_why_as_json_has_the_keys_that_scripts_rely_on(both: Engine) -> None:
    worker(both)
    policy(both, cap=1)
    holder, job = put(2)
    claim(both)
    answer = ask("jobs", "why", job)
    assert set(answer) >= {"id", "state", "headline", "reasons", "expected_start", "actions"}
    assert (answer["id"], answer["state"], answer["headline"]) == (job, "queued", told(job).headline)
    cap = answer["reasons"][0]
    assert {name: cap[name] for name in ("kind", "text", "until", "by", "since")} == {
        "kind": "tenant_cap", "text": "Its tenant acme is at its cap: 1 of 1 of its jobs are running.",
        "until": None, "by": None, "since": None,
    }  # fmt: skip
    assert [one["job"] for one in cap["holders"]] == [holder]
    assert answer["actions"] == list(told(job).actions)


def test_why_gives_instants_in_utc(both: Engine) -> None:
    worker(both)
    (job,) = put(delay_ms=HOUR_MS)
    answer = ask("jobs", "why", job)
    assert answer["expected_start"] == answer["reasons"][0]["until"]
    assert answer["expected_start"].endswith("Z")


def test_why_for_people(both: Engine) -> None:
    worker(both)
    policy(both, cap=1)
    holder, job = put(2)
    claim(both)
    lines = text("jobs", "why", job).splitlines()
    assert lines[0] == f"{job}  queued"
    assert lines[1] == "- Its tenant acme is at its cap: 1 of 1 of its jobs are running."
    assert lines[2].startswith(f"    {holder}  w1  20")
    assert lines[-3:] == [
        "what helps:",
        "  raise the cap of acme: manage.py tenants set acme --cap N",
        "  start a worker that serves the lane interactive: manage.py worker --lanes interactive",
    ]
    (later,) = put(delay_ms=HOUR_MS)
    delayed = text("jobs", "why", later)
    assert "- It was asked to start later. (due 20" in delayed
    assert delayed.endswith(f"what helps:\n  run it now: manage.py jobs run-now {later}\n")


def test_of_a_running_job_it_is_said_what_each_instant_is(both: Engine) -> None:
    (job,) = put()
    claim(both)
    assert re.search(
        r"heartbeat 0 s ago\. \(since \S+Z, lease renewed until \S+Z, times out at \S+Z\)", text("jobs", "why", job)
    )
    (running,) = ask("jobs", "why", job)["reasons"]
    assert running["times_out_at"] > running["since"]


def test_why_of_nothing_says_what_can_be_said(both: Engine) -> None:
    code, message = refusal("jobs", "why", "nothing")
    assert code == 1
    assert message.startswith("job nothing: nothing is kept of it, or it never existed: results are kept as long as")


def test_the_command_and_the_function_say_the_same(both: Engine) -> None:
    (job,) = put()
    found = why(job)
    assert found is not None
    assert [each["text"] for each in ask("jobs", "why", job)["reasons"]] == [each.text for each in found.reasons]


def test_stop_marks_the_job_and_is_in_the_audit(both: Engine) -> None:
    (job,) = put()
    claim(both)
    assert ask("jobs", "stop", job, "--reason", "wrong file") == {"id": job, "state": "stopping"}
    row = AuditEntry.objects.get(action="job.stop")
    assert (row.target_id, row.tenant_slug, row.reason) == (job, "acme", "wrong file")
    assert row.actor.startswith("command:")
    assert (row.before, row.after["state"]) == ({"state": "started"}, "stopping")
    assert told(job).headline == f"It is being stopped by {row.actor}: wrong file."
    ask("jobs", "stop", job, "--retry")
    assert AuditEntry.objects.filter(action="job.stop").latest("pk").after["state"] == "stopping to run again"


def test_stop_refuses_what_does_not_run_and_other_tenants_jobs(both: Engine) -> None:
    (job,) = put()
    assert refusal("jobs", "stop", job) == (
        1, f"job {job} cannot be stopped: it is not running; `manage.py jobs cancel {job}` ends one that waits",
    )  # fmt: skip
    claim(both)
    assert "nothing is kept of it" in refusal("jobs", "stop", job, "--tenant", "rival")[1]
    assert "nothing is kept of it" in refusal("jobs", "stop", "nothing")[1]
    assert AuditEntry.objects.filter(action="job.stop").count() == 0


def test_stop_to_retry_is_refused_on_the_last_attempt(both: Engine) -> None:
    (job,) = put(max_attempts=1)
    claim(both)
    code, message = refusal("jobs", "stop", job, "--retry")
    assert (code, message.partition(": ")[2]) == (
        1, "this is its last attempt, after which it cannot run again; without --retry it ends",
    )  # fmt: skip
    assert told(job).reasons[0].kind is Kind.RUNNING
    assert not AuditEntry.objects.filter(action="job.stop").exists()
    assert ask("jobs", "stop", job)["state"] == "stopping"


def test_stop_of_a_job_in_the_outbox_says_where_it_is(both: Engine) -> None:
    (row,) = outbox.write([new_job()])
    _, message = refusal("jobs", "stop", row.id)
    assert message.startswith(f"job {row.id} cannot be stopped: it waits in the outbox and is not running;")
    assert message.endswith(f"`manage.py jobs cancel {row.id}` ends it")
    assert "nothing is kept of it" in refusal("jobs", "stop", row.id, "--tenant", "rival")[1]
    assert ask("jobs", "cancel", row.id) == {"id": row.id, "state": "cancelled"}
    assert "it has ended already" in refusal("jobs", "stop", row.id)[1]


@pytest.mark.parametrize("act", ["stop", "cancel", "run-now"])
def test_a_job_that_only_its_dead_letter_tells_of_has_ended(both: Engine, act: str) -> None:
    (job,) = put(max_attempts=1)
    run_all(both, Outcome.failed("error", "E", "e"))
    intake.run(Context(both))
    both.redis.delete(f"rq:job:{job}")
    assert refusal("jobs", act, job)[1].endswith(f"it has ended already; `manage.py jobs why {job}` tells how")
    assert "nothing is kept of it" in refusal("jobs", act, job, "--tenant", "rival")[1]


def test_run_now_of_delayed_jobs_and_those_that_back_off(both: Engine) -> None:
    (later,) = put(delay_ms=HOUR_MS)
    assert ask("jobs", "run-now", later) == {"id": later, "state": "queued"}
    row = AuditEntry.objects.get(action="job.run_now")
    assert (row.target_id, row.before, row.after["state"]) == (later, {"state": "scheduled"}, "queued")
    run_all(both, Outcome.failed("error", "E", "e", delay_ms=HOUR_MS))
    ask("jobs", "run-now", later)
    assert run_all(both) == [later]
    assert ask("jobs", "show", later)["attempts"] == 2


def test_run_now_refuses_what_waits_for_no_time(both: Engine) -> None:
    (job,) = put()
    assert refusal("jobs", "run-now", job)[1].startswith(f"job {job} cannot be run now: it is neither delayed nor")
    (later,) = put(delay_ms=HOUR_MS)
    assert "nothing is kept of it" in refusal("jobs", "run-now", later, "--tenant", "rival")[1]
    assert told(later).state == "scheduled"
    assert AuditEntry.objects.filter(action="job.run_now").count() == 0


def test_run_now_of_a_row_in_the_outbox(both: Engine) -> None:
    row = outbox.write([new_job(due_at_ms=both.scripts.now_ms() + HOUR_MS)])[0]
    assert refusal("jobs", "run-now", row.id, "--tenant", "rival")[0] == 1
    assert OutboxEntry.objects.get().due_at_ms > 0
    assert ask("jobs", "run-now", row.id) == {"id": row.id, "state": "outbox"}
    assert OutboxEntry.objects.get().due_at_ms == 0
    assert refusal("jobs", "run-now", row.id)[0] == 1
    assert AuditEntry.objects.filter(action="job.run_now").count() == 1


def test_run_now_of_a_row_needs_no_redis(outage: Outage) -> None:
    row = outbox.write([new_job(due_at_ms=outage.engine.scripts.now_ms() + HOUR_MS)])[0]
    outage.begin()
    assert ask("jobs", "run-now", row.id)["state"] == "outbox"
    assert OutboxEntry.objects.get().due_at_ms == 0


def test_a_job_that_waits_for_a_limit_is_cancelled(both: Engine) -> None:
    both.scripts.set_limit("stripe", 0, None)
    (job,) = put(resource="stripe")
    assert claim(both) is None
    assert told(job).state == "waiting"
    assert ask("jobs", "cancel", job) == {"id": job, "state": "cancelled"}
    both.scripts.set_limit("stripe", 1, None)
    assert run_all(both) == []


def test_jobs_show_tells_what_a_job_needs_and_how_far_it_is(both: Engine) -> None:
    both.scripts.set_limit("stripe", 1, None)
    first, job = put(2, resource="stripe", checkpoint=b'{"token": "s3cret", "after": 4}')
    running = claim(both)
    assert running is not None
    both.scripts.save_progress(running.id, running.token, 4, 10)
    assert claim(both) is None
    shown = ask("jobs", "show", job)
    assert (shown["state"], shown["waits_for"], shown["resource"], shown["progress"]) == (
        "waiting", "stripe", "stripe", None,
    )  # fmt: skip
    assert shown["checkpoint"]["after"] == 4
    assert "s3cret" not in str(shown)
    assert ask("jobs", "show", first)["progress"] == {"done": 4, "total": 10}
    assert (shown["batch"], ask("jobs", "show", first)["waits_for"]) == (None, None)
