"""RQ's own classes and pages tell the truth about our jobs, and its clean-up takes nothing of ours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from rq import Queue
from rq.job import Job, JobStatus
from rq.registry import CanceledJobRegistry, FailedJobRegistry, FinishedJobRegistry, StartedJobRegistry
from rq.serializers import JSONSerializer

from jobops.engine.client import Engine
from jobops.engine.payload import encode
from jobops.engine.records import Outcome
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, dump, job, running, slots


def fetch(engine: Engine, name: str) -> Job:
    return Job.fetch(name, connection=engine.redis, serializer=JSONSerializer)


def near(instant: datetime | None) -> bool:
    return instant is not None and abs(datetime.now(UTC) - instant.replace(tzinfo=UTC)) < timedelta(minutes=1)


def test_counts_are_those_of_rq(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(8)])
    queue = Queue("acme.bulk", connection=engine.redis, serializer=JSONSerializer)
    one, *others = slots(scripts, 3)
    one.run()
    one.run(Outcome.failed("poison"))
    one.run(Outcome.discarded())
    for slot in others:
        slot.need()
    scripts.cancel("j7")
    assert (queue.count, queue.job_ids) == (2, ["j5", "j6"])
    options = {"queue": queue}
    assert sorted(StartedJobRegistry(**options).get_job_ids()) == ["j3", "j4"]
    assert sorted(FinishedJobRegistry(**options).get_job_ids()) == ["j0", "j2"]
    assert FailedJobRegistry(**options).get_job_ids() == ["j1"]
    assert CanceledJobRegistry(**options).get_job_ids() == ["j7"]
    assert {queue.name for queue in Queue.all(connection=engine.redis)} == {"acme.bulk"}
    assert (queue.started_job_registry.count, queue.finished_job_registry.count) == (2, 2)


def test_a_finished_job_shows_its_call_times_and_result(engine: Engine, scripts: Scripts) -> None:
    data = encode("shop.export", (1, "x"), {"rows": [1, 2]})
    scripts.enqueue(job("a", job_type="shop.export", data=data, timeout_ms=90_500, result_ttl_s=77))
    waiting = fetch(engine, "a")
    assert waiting.get_status() == JobStatus.QUEUED
    assert near(waiting.created_at)
    assert near(waiting.enqueued_at)
    assert (waiting.func_name, list(waiting.args), waiting.kwargs) == ("shop.export", [1, "x"], {"rows": [1, 2]})
    assert (waiting.origin, waiting.timeout, waiting.result_ttl) == ("acme.bulk", 91, 77)
    slot = Slot(scripts, worker="w1")
    slot.need()
    started = fetch(engine, "a")
    assert (started.get_status(), started.worker_name) == (JobStatus.STARTED, "w1")
    assert near(started.started_at)
    assert near(started.last_heartbeat)
    slot.settle(outcome=Outcome.succeeded(b'{"written": 2}'))
    ended = fetch(engine, "a")
    assert ended.is_finished
    assert near(ended.ended_at)
    assert not ended.worker_name
    with pytest.deprecated_call():
        assert ended.result == {"written": 2}


def test_a_dead_job_shows_its_traceback(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=1))
    Slot(scripts).run(Outcome.failed("error", "ValueError", "boom", "Traceback (most recent call last): ..."))
    dead = fetch(engine, "a")
    assert dead.is_failed
    with pytest.deprecated_call():
        assert dead.exc_info == "Traceback (most recent call last): ..."
    assert near(dead.ended_at)


def test_a_delayed_and_a_cancelled_job_show_so(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("later", delay_ms=60_000), job("gone")])
    scripts.cancel("gone")
    assert (fetch(engine, "later").is_scheduled, fetch(engine, "gone").is_canceled) == (True, True)


def test_rq_clean_up_moves_nothing_of_ours(engine: Engine, scripts: Scripts) -> None:
    """Trap 12, LS-01, LS-02: `rq info` and the pages of django-rq run it."""
    scripts.enqueue_many([job("runs", timeout_ms=1), job("dies", max_attempts=1), job("waits")])
    slot, other = slots(scripts, 2)
    slot.need()
    other.run(BOOM)
    queue = Queue("acme.bulk", connection=engine.redis, serializer=JSONSerializer)
    before = dump(engine.redis)
    for registry in (StartedJobRegistry, FinishedJobRegistry, FailedJobRegistry):
        registry(queue=queue).cleanup()
        registry(queue=queue).cleanup(timestamp=2**40)
    assert dump(engine.redis) == before
    assert running(engine) == 1
    assert slot.settle().outcome == "succeeded"


def test_nothing_is_left_in_the_started_registry_once_work_is_done(engine: Engine, scripts: Scripts) -> None:
    """LS-02."""
    scripts.enqueue_many([job(f"j{n}") for n in range(10)])
    slot = Slot(scripts)
    for n in range(10):
        slot.run((None, Outcome.discarded(), Outcome.failed("poison"), Outcome.failed("error", delay_ms=9_999))[n % 4])
    assert StartedJobRegistry("acme.bulk", connection=engine.redis, serializer=JSONSerializer).count == 0
    assert not engine.redis.exists("rq:wip:acme.bulk")
    assert scripts.reconcile("acme.bulk").recovered == 0
