"""``manage.py jobs``: a job is found, listed and cancelled wherever it is, whatever it holds."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command
from django.db import transaction

from dlq.models import DeadLetter
from jobops.context import outbox
from jobops.contracts.secret_values import DOTS
from jobops.engine.client import Engine
from jobops.engine.payload import encode
from jobops.engine.records import Outcome
from jobops.runtime import enqueuer
from jobops.scheduling.duties import Context
from jobops.steward import intake
from tenants.models import Tenant
from tests.runtime.asking import ask, refusal, text
from tests.runtime.factory import claim, echo, new_job, run_all, settle

pytestmark = pytest.mark.django_db(transaction=True)


def test_jobs_show_tells_the_whole_life_of_a_job(both: Engine) -> None:
    job = new_job(max_attempts=2)
    enqueuer().enqueue(job)
    shown = ask("jobs", "show", job.id)
    assert {k: shown[k] for k in ("id", "tenant", "job", "queue", "state", "attempts", "max_attempts")} == {
        "id": job.id, "tenant": "acme", "job": "tests.echo", "queue": "acme.interactive", "state": "queued",
        "attempts": 0, "max_attempts": 2,
    }  # fmt: skip
    assert (shown["started_at"], shown["ended_at"], shown["result"], shown["dead_letter"]) == (None, None, None, None)
    assert shown["enqueued_at"].endswith("Z")
    running = claim(both)
    assert running is not None
    assert ask("jobs", "show", job.id)["state"] == "started"
    settle(both, running, Outcome.failed("error", "ValueError", "no", delay_ms=3_600_000))
    assert ask("jobs", "show", job.id)["state"] == "scheduled"
    both.redis.zadd("rq:scheduler:scheduled_jobs", {job.id: 1})
    both.scripts.promote()
    run_all(both, Outcome.succeeded(b'{"sum": 3}'))
    shown = ask("jobs", "show", job.id)
    assert (shown["state"], shown["attempts"], shown["result"]) == ("succeeded", 2, {"sum": 3})
    assert shown["ended_at"] >= shown["started_at"]


def test_jobs_show_finds_the_dead_also_when_redis_has_forgotten_them(both: Engine) -> None:
    job = new_job()
    enqueuer().enqueue(job)
    run_all(both, Outcome.failed("poison", "ValueError", "no such invoice"))
    intake.run(Context(both))
    letter = DeadLetter.objects.get()
    shown = ask("jobs", "show", job.id)
    assert (shown["state"], shown["dead_letter"], shown["error"]) == ("dead", letter.pk, "ValueError: no such invoice")
    both.redis.flushall()
    again = ask("jobs", "show", job.id)
    assert (again["state"], again["dead_letter"], again["error"]) == ("dead", letter.pk, shown["error"])


def test_jobs_masks_as_the_pages_do(both: Engine) -> None:
    """SE-06: what has the name of a secret, also where an error or a result repeats it."""
    failed, done = (new_job(data=encode("tests.echo", (), {"token": "s3cret-value"})) for _ in range(2))
    enqueuer().enqueue(done)
    run_all(both, Outcome.succeeded(b'{"said": "s3cret-value", "api_key": "other-key", "sum": 3}'))
    shown = ask("jobs", "show", done.id)
    assert shown["result"] == {"said": DOTS, "api_key": DOTS, "sum": 3}
    enqueuer().enqueue(failed)
    run_all(both, Outcome.failed("poison", "ValueError", "s3cret-value at redis://:pw@host"))
    intake.run(Context(both))
    masked = f"ValueError: {DOTS} at redis://{DOTS}@host"
    assert ask("jobs", "show", failed.id)["error"] == masked
    both.redis.flushall()
    assert ask("jobs", "show", failed.id)["error"] == masked
    assert [row["error"] for row in ask("jobs", "list", "--state", "dead")] == [masked]


def test_jobs_show_of_nothing_is_one_clear_line(both: Engine) -> None:
    code, message = refusal("jobs", "show", "nothing")
    assert code == 1
    assert "nothing" in message


def test_jobs_show_for_people(both: Engine) -> None:
    job = new_job(key="weird\x1b[31mkey")
    enqueuer().enqueue(job)
    shown = text("jobs", "show", job.id)
    assert "state           queued" in shown
    assert "\x1b" not in shown


def make_one_of_each(engine: Engine) -> dict[str, str]:
    """A job in every state there is; state → id."""
    ids: dict[str, str] = {}
    succeeding, dying, discarded, running = new_job(), new_job(), new_job(), new_job()
    for job, state, outcome in (
        (succeeding, "succeeded", Outcome.succeeded()),
        (dying, "dead", Outcome.failed("poison", "E", "e")),
        (discarded, "discarded", Outcome.discarded("E", "e")),
    ):
        enqueuer().enqueue(job)
        run_all(engine, outcome)
        ids[state] = job.id
    enqueuer().enqueue(running)
    assert claim(engine) is not None
    ids["started"] = running.id
    ids["waiting"] = enqueuer().enqueue(new_job(resource="nobody-has-set-its-limit")).id
    assert claim(engine) is None
    ids["queued"] = enqueuer().enqueue(new_job()).id
    ids["scheduled"] = enqueuer().enqueue(new_job(delay_ms=3_600_000)).id
    ids["cancelled"] = enqueuer().enqueue(new_job()).id
    call_command("jobs", "cancel", ids["cancelled"], stdout=io.StringIO())
    ids["outbox"] = outbox.write([new_job()])[0].id
    first = enqueuer().enqueue(new_job(key="k"))
    with transaction.atomic():
        ids["coalesced"] = enqueuer().enqueue(new_job(key="k")).id
    call_command("jobs", "cancel", first.id, stdout=io.StringIO())
    return ids


def test_jobs_list_finds_a_job_in_every_state(both: Engine) -> None:
    ids = make_one_of_each(both)
    for state, job_id in ids.items():
        assert job_id in [row["id"] for row in ask("jobs", "list", "--state", state)], state
        assert {row["state"] for row in ask("jobs", "list", "--state", state, "--tenant", "acme")} == {state}
        assert ask("jobs", "show", job_id)["state"] == state
    live = [row["id"] for row in ask("jobs", "list")]
    assert live == [ids[state] for state in ("started", "queued", "waiting", "scheduled", "outbox")]
    intake.run(Context(both))
    assert [row["id"] for row in ask("jobs", "list", "--state", "dead")] == [ids["dead"]]
    assert "'other' is not known" in refusal("jobs", "list", "--tenant", "other")[1]
    assert len(ask("jobs", "list", "--limit", "2")) == 2


def test_a_list_pages_through_a_long_queue(both: Engine) -> None:
    jobs = [new_job() for _ in range(350)]
    enqueuer().enqueue_many(jobs)
    assert [row["id"] for row in ask("jobs", "list", "--limit", "300")] == [job.id for job in jobs[:300]]


def test_a_list_that_is_cut_says_of_how_many(both: Engine) -> None:
    enqueuer().enqueue_many([new_job() for _ in range(7)])
    enqueuer().enqueue(new_job(delay_ms=3_600_000))
    outbox.write([new_job()])
    assert text("jobs", "list", "--limit", "2").splitlines()[-1] == "2 of 9; --limit N shows more"
    queued = text("jobs", "list", "--limit", "6", "--tenant", "acme", "--state", "queued")
    assert queued.splitlines()[-1] == "6 of 7; --limit N shows more"
    assert text("jobs", "list", "--limit", "2", "--tenant", "acme").endswith("2 of many more; --limit N shows more\n")
    assert "--limit" not in text("jobs", "list", "--limit", "9")
    assert len(ask("jobs", "list", "--limit", "2")) == 2


def test_jobs_of_a_tenant_that_was_deleted_are_listed_and_a_typing_error_is_refused(both: Engine) -> None:
    enqueuer().enqueue(job := new_job())
    Tenant.objects.all().delete()
    assert [row["id"] for row in ask("jobs", "list", "--tenant", "acme")] == [job.id]
    code, message = refusal("jobs", "list", "--tenant", "acm")
    assert code == 1
    assert message == "--tenant: 'acm' is not known; `manage.py tenants list` shows those there are"


def test_whatever_a_job_holds_no_list_breaks(both: Engine) -> None:
    """PX-07, PX-02: pickles, broken JSON, sets of bytes, a type that is gone, a key of another kind."""
    evil = {
        "pickled": {"data": b"\x80\x04\x95\x0b\x00\x00\x00", "status": "queued", "origin": "acme.interactive"},
        "binary": {"data": bytes(range(256)), "jo_type": b"\xff\xfe", "jo_error": b"a\0b\xff", "status": b"\xff"},
        "numbers": {"jo_attempt": "many", "jo_enqueued": "1e400", "jo_started": "-5", "jo_due": "9" * 30},
        "gone": {"jo_type": "app.tasks.old", "jo_tenant": "acme", "status": "queued", "result": b"\x00not json"},
        "empty": {"x": ""},
    }
    for name, fields in evil.items():
        both.redis.hset(f"rq:job:{name}", mapping=fields)
        both.redis.rpush("rq:queue:acme.interactive", name)
        both.redis.zadd("rq:scheduler:scheduled_jobs", {name: 9e12})
    good = enqueuer().enqueue(new_job())
    for arguments in (("jobs", "list"), ("jobs", "list", "--state", "scheduled"), ("queues",)):
        text(*arguments)
        ask(*arguments)
    assert good.id in [row["id"] for row in ask("jobs", "list")]
    for name in evil:
        assert ask("jobs", "show", name)["id"] == name
    assert ask("jobs", "show", "gone")["job"] == "app.tasks.old"


def test_jobs_cancel_by_id_and_by_key_wherever_the_job_waits(both: Engine) -> None:
    queued = echo.using(tenant="acme").enqueue()
    scheduled = enqueuer().enqueue(new_job(delay_ms=60_000, key="later"))
    boxed, keyed = (outbox.write([new_job(key=key)])[0] for key in ("", "boxed"))
    assert ask("jobs", "cancel", queued.id) == {"id": queued.id, "state": "cancelled"}
    by_key = ("jobs", "cancel", "--tenant", "acme", "--job", "tests.echo", "--key")
    assert ask(*by_key, "later")["id"] == scheduled.id
    assert ask("jobs", "cancel", boxed.id)["state"] == "cancelled"
    assert ask(*by_key, "boxed")["id"] == keyed.id
    assert run_all(both) == []
    assert {ask("jobs", "show", job.id)["state"] for job in (queued, scheduled, boxed, keyed)} == {"cancelled"}


def test_jobs_cancel_refuses_what_cannot_be_cancelled(both: Engine) -> None:
    enqueuer().enqueue(running := new_job())
    assert claim(both) is not None
    assert "running" in refusal("jobs", "cancel", running.id)[1]
    assert "not" in refusal("jobs", "cancel", "nothing")[1]
    enqueuer().enqueue(other := new_job())
    assert refusal("jobs", "cancel", other.id, "--tenant", "else")[0] == 1
    assert refusal("jobs", "cancel")[0] == 2
    assert refusal("jobs", "cancel", other.id, "--key", "k")[0] == 2
    assert refusal("jobs", "cancel", "--key", "k")[0] == 2
