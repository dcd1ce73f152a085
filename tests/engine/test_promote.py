"""Promote: delayed jobs that are due go to their queues, in order, within the limit, and nothing else moves."""

from __future__ import annotations

from jobops.engine.client import Engine
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.records import Outcome, Promoted
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, dump, job, make_due, queued, status


def delayed(engine: Engine, ids: list[str], first_due_s: float) -> None:
    """Delayed jobs, due one second after the other."""
    for n, name in enumerate(ids):
        engine.scripts.enqueue(job(name, delay_ms=60_000))
        engine.redis.zadd(RQ_SCHEDULED, {name: first_due_s + n}, xx=True)


def test_without_delayed_jobs_nothing_moves(scripts: Scripts) -> None:
    assert scripts.promote() == Promoted(0, None, False)


def test_only_what_is_due_moves_and_the_next_due_time_is_told(engine: Engine, scripts: Scripts) -> None:
    now = scripts.now_ms() / 1000
    delayed(engine, ["past"], now - 5)
    delayed(engine, ["future"], now + 500)
    assert scripts.promote().moved == 1
    assert queued(engine) == ["past"]
    wait = scripts.promote().wait_ms
    assert wait is not None
    assert now * 1000 - 1 <= (now + 500) * 1000 - wait <= scripts.now_ms() + 1


def test_due_jobs_move_in_the_order_of_their_due_times_behind_what_waits(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("waiting"))
    now = scripts.now_ms() / 1000
    delayed(engine, ["z", "m", "a"], now - 100)
    assert scripts.promote().moved == 3
    assert queued(engine) == ["waiting", "z", "m", "a"]


def test_no_more_than_the_limit_moves_and_the_rest_is_due_at_once(engine: Engine, scripts: Scripts) -> None:
    delayed(engine, [f"j{n}" for n in range(5)], scripts.now_ms() / 1000 - 100)
    answer = scripts.promote(limit=2)
    assert (answer.moved, answer.skipped) == (2, False)
    assert answer.wait_ms == 0
    assert (scripts.promote(limit=2).moved, scripts.promote(limit=2).moved) == (2, 1)
    assert queued(engine) == [f"j{n}" for n in range(5)]


def test_a_promotion_soon_after_another_is_skipped_when_asked_to(engine: Engine, scripts: Scripts) -> None:
    assert scripts.promote(min_interval_ms=60_000).skipped is False
    delayed(engine, ["a"], scripts.now_ms() / 1000 - 1)
    before = dump(engine.redis)
    assert scripts.promote(min_interval_ms=60_000) == Promoted(0, None, True)
    assert dump(engine.redis) == before
    assert scripts.promote().moved == 1


def test_a_clock_that_was_set_back_does_not_stop_promotion(engine: Engine, scripts: Scripts) -> None:
    engine.redis.hset(engine.keys.cell(), "promote_tick", scripts.now_ms() + 3_600_000)
    delayed(engine, ["a"], scripts.now_ms() / 1000 - 1)
    assert scripts.promote(min_interval_ms=60_000).moved == 1


def test_two_promoters_move_a_job_once(engine: Engine, scripts: Scripts) -> None:
    """Trap 7: every duty is right when two run it."""
    delayed(engine, ["a"], scripts.now_ms() / 1000 - 1)
    assert (scripts.promote().moved, scripts.promote().moved) == (1, 0)
    assert queued(engine) == ["a"]


def test_an_entry_whose_job_vanished_is_dropped(engine: Engine, scripts: Scripts) -> None:
    engine.redis.zadd(RQ_SCHEDULED, {"ghost": 1, "\x00bytes": 2})
    assert scripts.promote() == Promoted(0, None, False)
    assert engine.redis.keys("rq:job:ghost") == []


def test_an_entry_of_a_job_that_is_not_delayed_any_more_is_dropped(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("waiting"), job("cancelled"), job("running", lane="interactive")])
    Slot(scripts, lanes=["interactive"]).need()
    scripts.cancel("cancelled")
    engine.redis.zadd(RQ_SCHEDULED, {"waiting": 1, "cancelled": 2, "running": 3})
    assert scripts.promote().moved == 0
    assert queued(engine) == ["waiting"]
    assert (status(engine, "cancelled"), status(engine, "running")) == ("canceled", "started")


def test_a_job_of_plain_rq_scheduler_goes_to_its_own_queue(engine: Engine, scripts: Scripts) -> None:
    engine.redis.hset("rq:job:plain", mapping={"origin": "default", "data": b"pickled"})
    engine.redis.zadd(RQ_SCHEDULED, {"plain": 1})
    assert scripts.promote().moved == 1
    assert queued(engine, "default") == ["plain"]
    assert status(engine, "plain") == "queued"
    assert engine.redis.sismember("rq:queues", "rq:queue:default")
    engine.redis.delete("rq:queue:default", "rq:job:plain")


def test_a_retry_comes_back_without_any_scheduler(engine: Engine, scripts: Scripts) -> None:
    """RT-05: whoever is there promotes; here the slot itself."""
    scripts.enqueue(job("a", max_attempts=4))
    slot = Slot(scripts)
    for attempt in (1, 2, 3, 4):
        assert slot.need().attempt == attempt
        slot.settle(outcome=Outcome.failed("error", delay_ms=10_000))
        if attempt < 4:
            assert scripts.promote().moved == 0
            make_due(engine, "a")
            assert scripts.promote().moved == 1
    assert status(engine, "a") == "failed"


def test_waiting_for_a_due_time_is_not_running(engine: Engine, scripts: Scripts) -> None:
    """LS-07: due far later than a lease lasts; sweeps in between hand it out to nobody, and it runs once."""
    scripts.enqueue(job("a", delay_ms=21_600_000, lease_ms=1))
    for n in range(3):
        assert (scripts.rescue().moved, scripts.promote().moved) == (0, 0)
        assert Slot(scripts, f"s{n}").claim() is None
    make_due(engine, "a")
    scripts.promote()
    assert Slot(scripts, "one").run() == "succeeded"
    assert Slot(scripts, "two").claim() is None


def test_a_delay_of_years_is_kept(engine: Engine, scripts: Scripts) -> None:
    """RT-04: the 47th retry of an exponential backoff is still scheduled, and a delay is never negative."""
    scripts.enqueue(job("a", max_attempts=3))
    slot = Slot(scripts)
    slot.run(Outcome.failed("error", delay_ms=5 * 365 * 86_400_000))
    assert engine.redis.zscore(RQ_SCHEDULED, "a") > scripts.now_ms() / 1000 + 4 * 365 * 86_400
    make_due(engine, "a")
    scripts.promote()
    slot.run(Outcome.failed("error", delay_ms=-5))
    assert scripts.promote().moved == 1
    assert slot.run(BOOM) == "dead"
