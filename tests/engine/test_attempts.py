"""I6: a job starts at most ``max_attempts`` times plus a bounded number of free releases, by whatever path."""

from __future__ import annotations

import pytest
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.records import Outcome
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, expire, job, queued, status


def error(engine: Engine, slot: Slot) -> None:
    slot.settle(outcome=BOOM)
    engine.scripts.promote()


def timeout(engine: Engine, slot: Slot) -> None:
    slot.settle(outcome=Outcome.failed("timeout", "JobTimeout"))
    engine.scripts.promote()


def killed(engine: Engine, slot: Slot) -> None:
    engine.scripts.abandon(slot.name)


def killed_by_the_clock(engine: Engine, slot: Slot) -> None:
    engine.scripts.abandon(slot.name, "timeout")


def expired(engine: Engine, slot: Slot) -> None:
    expire(engine, "a")
    engine.scripts.rescue()


def leaseless(engine: Engine, slot: Slot) -> None:
    engine.redis.delete(engine.keys.lease("a"))
    engine.scripts.reconcile("acme.bulk")


@pytest.mark.parametrize(
    "ends",
    [
        [error, expired, timeout],
        [killed, killed, killed],
        [leaseless, killed_by_the_clock, error],
        [expired, expired, expired],
    ],
    ids=lambda ends: "+".join(end.__name__ for end in ends),
)
def test_each_start_counts_by_whatever_path_it_ends(engine: Engine, scripts: Scripts, ends: list) -> None:
    """RT-09: one error, one lost worker, one time-out. RT-03: a job that kills its worker dies after its attempts."""
    scripts.enqueue_many([job("a", max_attempts=3), job("other", lane="interactive")])
    for start, end in enumerate(ends, 1):
        slot = Slot(scripts, f"s{start}", lanes=["bulk"])
        assert slot.need().attempt == start
        end(engine, slot)
    assert status(engine, "a") == "failed"
    last = Slot(scripts, "last")
    assert last.need().id == "other"  # others keep flowing
    assert last.claim() is None
    view = read_job(engine, "a")
    assert view is not None
    assert [past.number for past in view.history] == [1, 2, 3]
    (death,) = scripts.dead_batch()
    assert death.member == "a:3"


def test_a_job_that_kills_its_worker_each_time_is_named_so(engine: Engine, scripts: Scripts) -> None:
    """RT-03."""
    scripts.enqueue(job("a", max_attempts=2))
    for n in range(2):
        Slot(scripts, f"s{n}", worker=f"w{n}").need()
        assert scripts.abandon(f"s{n}", "worker_lost", "its process got SIGKILL") == ("retry", "dead")[n]
    view = read_job(engine, "a")
    assert view is not None
    assert (view.reason, view.error_class, view.error) == ("worker_lost", "WorkerLost", "its process got SIGKILL")
    assert [past.worker for past in view.history] == ["w0", "w1"]


def test_a_hard_kill_after_its_time_out_is_a_time_out(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=1))
    Slot(scripts, "s").need()
    assert scripts.abandon("s", "timeout") == "dead"
    view = read_job(engine, "a")
    assert view is not None
    assert (view.reason, view.error_class, view.error) == ("timeout", "JobTimeout", "slot s ended")


def test_a_release_gives_the_attempt_back(engine: Engine, scripts: Scripts) -> None:
    """LS-04: a worker that stops after its pop puts the job back, first in its queue; it runs once on the next."""
    scripts.enqueue_many([job("a", max_attempts=1), job("b")])
    assert Slot(scripts, "s1").run(Outcome.released()) == "released"
    assert queued(engine) == ["a", "b"]
    view = read_job(engine, "a")
    assert view is not None
    assert [(past.number, past.outcome) for past in view.history] == [(1, "released")]
    claimed = Slot(scripts, "s2").need()
    assert (claimed.id, claimed.attempt, claimed.releases) == ("a", 1, 1)


def test_twenty_releases_are_free_and_later_ones_count(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=2))
    slot = Slot(scripts)
    for n in range(20):
        claimed = slot.need()
        assert (claimed.attempt, claimed.releases) == (1, n)
        assert slot.settle(outcome=Outcome.released()).outcome == "released"
    assert slot.run(Outcome.released()) == "retry"
    assert queued(engine) == ["a"]
    assert slot.need().attempt == 2
    assert slot.settle(outcome=Outcome.released()).outcome == "dead"
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, view.error_class) == ("dead", "Released")
    assert "released by a stopping worker 22 times" in view.error


def test_releases_and_failures_add_up(scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=2))
    slot = Slot(scripts)
    outcomes = []
    for outcome in (Outcome.released(), BOOM, Outcome.released(), Outcome.released(), BOOM):
        scripts.promote()
        outcomes.append(slot.run(outcome))
    assert outcomes == ["released", "retry", "released", "released", "dead"]


def test_a_dead_job_that_an_outsider_requeues_does_not_start_again(engine: Engine, scripts: Scripts) -> None:
    """Through RQ's own requeue. It dies once more under the same name, so that nothing counts it twice."""
    scripts.enqueue_many([job("a", max_attempts=1), job("b")])
    slot = Slot(scripts)
    slot.run(BOOM)
    (death,) = scripts.dead_batch()
    Job.fetch("a", engine.redis, JSONSerializer).requeue()
    assert queued(engine) == ["b", "a"]
    scripts.reconcile("acme.bulk")
    assert [slot.need().id, slot.claim()] == ["b", None]
    assert status(engine, "a") == "failed"
    assert [again.member for again in scripts.dead_batch()] == [death.member]
    view = read_job(engine, "a")
    assert view is not None
    assert (view.attempts, view.reason) == (1, "exhausted")


def test_a_job_that_an_outsider_put_back_with_attempts_left_goes_on_counting(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=3))
    slot = Slot(scripts)
    slot.run(Outcome.failed("poison"))
    Queue("acme.bulk", connection=engine.redis, serializer=JSONSerializer)
    Job.fetch("a", engine.redis, JSONSerializer).requeue()
    scripts.reconcile("acme.bulk")
    assert slot.need().attempt == 2


def test_the_history_keeps_each_attempt_and_at_most_fifty(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=53))
    slot = Slot(scripts)
    for n in range(1, 54):
        scripts.promote()
        slot.need()
        slot.settle(outcome=Outcome.failed("error", f"E{n}", "x" * 900))
    view = read_job(engine, "a")
    assert view is not None
    assert [past.number for past in view.history] == list(range(4, 54))
    assert (view.history[-1].error_class, view.attempts) == ("E53", 53)
    assert {len(past.error) for past in view.history} == {500}
    assert len(view.error) == 900


def test_the_history_tells_worker_times_and_outcome(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    Slot(scripts, "s1", worker="w1").run(BOOM)
    scripts.promote()
    Slot(scripts, "s2", worker="w2").run()
    view = read_job(engine, "a")
    assert view is not None
    assert [(past.worker, past.outcome, past.error) for past in view.history] == [
        ("w1", "error", "boom"),
        ("w2", "succeeded", ""),
    ]
    for past in view.history:
        assert past.started_at is not None
        assert past.ended_at is not None
        assert past.started_at <= past.ended_at


@pytest.mark.parametrize("text", ["a\x00b", 'quote " back \\ ', "π 😀 \u2028", "\ud800 lone", "x" * 499 + "😀😀"])
def test_any_error_text_is_kept_and_read_back(engine: Engine, scripts: Scripts, text: str) -> None:
    """PX-01: what a job raises never keeps its failure from being recorded."""
    scripts.enqueue(job("a", max_attempts=1))
    assert Slot(scripts).run(Outcome.failed("error", text[:20], text, text)) == "dead"
    view = read_job(engine, "a")
    assert view is not None
    want = text.encode(errors="backslashreplace").decode()
    assert (view.error, view.traceback, len(view.history)) == (want, want, 1)
    assert view.history[0].error == want[:500]
