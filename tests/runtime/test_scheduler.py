"""The scheduler inside one process: lock, registration, promotion, rescue, and running once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import Policy
from jobops.scheduling import scheduler as module
from jobops.scheduling.clockwork import Clockwork
from jobops.scheduling.duties import Context, Duty
from jobops.scheduling.scheduler import LOCK, Scheduler
from tests.runtime.factory import claim, new_job, waiting
from tests.tools import wait_for


@pytest.fixture
def cell(engine: Engine) -> Engine:
    engine.scripts.set_policy(Policy("acme"))
    return engine


@pytest.fixture
def clockwork(cell: Engine) -> Iterator[Clockwork]:
    clockwork = Clockwork(cell, threading.Event())
    yield clockwork
    clockwork.stop.set()


def holder(engine: Engine) -> str:
    return (engine.redis.get(engine.keys.lock(LOCK)) or b"").decode()  # type: ignore[union-attr]


def test_a_due_job_is_in_its_queue_within_a_hundred_milliseconds(cell: Engine, clockwork: Clockwork) -> None:
    clockwork.keep_running()
    late = []
    for _ in range(10):
        job = new_job(delay_ms=150)
        due = time.monotonic() + 0.150
        cell.scripts.enqueue(job)
        wait_for(lambda job=job: waiting(cell) == [job.id], what="promotion")  # type: ignore[misc]
        late.append(time.monotonic() - due)
        cell.redis.delete("rq:queue:acme.interactive")
    # The median: this machine is shared.
    assert sorted(late)[5] < 0.1


def test_two_schedulers_move_every_job_once(cell: Engine) -> None:
    """SC-01"""
    stop = threading.Event()
    for _ in range(2):
        Clockwork(cell, stop, tick_s=0.05).keep_running()
    jobs = [new_job(delay_ms=20) for _ in range(2000)]
    cell.scripts.enqueue_many(jobs)
    wait_for(lambda: len(waiting(cell)) >= 2000, what="promotion")
    stop.set()
    assert sorted(waiting(cell)) == sorted(job.id for job in jobs)


def test_promotion_survives_an_outage(cell: Engine, clockwork: Clockwork, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = threading.Event()
    real = cell.scripts.promote

    def promote(**options: int):  # type: ignore[no-untyped-def]
        if broken.is_set():
            raise ConnectionError("away")
        return real(**options)

    monkeypatch.setattr(cell.scripts, "promote", promote)
    clockwork.keep_running()
    broken.set()
    job = new_job(delay_ms=1)
    cell.scripts.enqueue(job)
    wait_for(lambda: clockwork.steps[0].failures >= 2, what="two failures")
    broken.clear()
    wait_for(lambda: waiting(cell) == [job.id], what="promotion")


BROKEN = {"promotion": "rq:scheduler:scheduled_jobs", "rescue": "jobops:leases"}


@pytest.mark.parametrize("bad", BROKEN)
def test_what_stops_promotion_does_not_stop_rescue_nor_the_other_way_round(
    cell: Engine, clockwork: Clockwork, bad: str, caplog: pytest.LogCaptureFixture
) -> None:
    worked: list[str] = []

    def noted(name: str, work: Callable[[], float]) -> float:
        pause = work()
        worked.append(name)
        return pause

    for step in clockwork.steps:
        step.work = partial(noted, step.name, step.work)
    cell.redis.set(BROKEN[bad], "not what it must be")
    clockwork.keep_running()
    failing, good = sorted(clockwork.steps, key=lambda step: step.name != bad)
    wait_for(lambda: failing.failures >= 3 and worked.count(good.name) >= 2, what="both were tried")
    assert (failing.name in worked, good.failures) == (False, 0)
    assert sum(record.message.startswith(f"{bad} failed") for record in caplog.records) == 1
    cell.redis.delete(BROKEN[bad])
    wait_for(lambda: bad in worked, what="the other one again")


@pytest.mark.parametrize("bad", BROKEN)
def test_once_does_the_rest_when_promotion_or_rescue_fails(cell: Engine, bad: str) -> None:
    cell.scripts.rescue()  # from here on somebody watches
    lost, late = new_job(lease_ms=1, max_attempts=1), new_job(delay_ms=1)
    cell.scripts.enqueue(lost)
    assert claim(cell) is not None
    cell.scripts.enqueue(late)
    due = cell.scripts.now_ms() + 1
    wait_for(lambda: cell.scripts.now_ms() > due, what="both are due")
    cell.redis.delete(BROKEN[bad])
    cell.redis.set(BROKEN[bad], "not what it must be")
    ran: list[int] = []
    with pytest.raises(ExceptionGroup) as raised:
        Scheduler(cell, [Duty("d", lambda _: ran.append(1) or 0, every_s=1)]).run_once()
    assert len(raised.value.exceptions) == 1
    assert ran == [1]
    if bad == "promotion":
        assert cell.redis.zcard("jobops:dead") == 1
    else:
        assert waiting(cell) == [late.id]


def test_a_dead_thread_is_started_again(cell: Engine, clockwork: Clockwork) -> None:
    """SC-16"""
    clockwork.keep_running()
    first = clockwork._thread
    assert first is not None
    clockwork.stop.set()
    first.join()
    clockwork.stop.clear()
    clockwork.keep_running()
    job = new_job(delay_ms=1)
    cell.scripts.enqueue(job)
    wait_for(lambda: waiting(cell) == [job.id], what="promotion")


def test_an_expired_lease_is_rescued(cell: Engine, clockwork: Clockwork) -> None:
    cell.scripts.rescue()  # from here on somebody watches
    job = new_job(lease_ms=200)
    cell.scripts.enqueue(job)
    assert claim(cell) is not None
    clockwork.keep_running()
    again = wait_for(lambda: claim(cell), what="the second attempt")
    assert (again.id, again.attempt) == (job.id, 2)


def test_only_one_leads_and_the_other_follows_within_the_locks_time(cell: Engine) -> None:
    """SC-02: A stalls past its time, B takes over, A wakes: A stands down and B's lock is untouched."""
    a, b = (Scheduler(cell, [], lock_ttl_s=0.3) for _ in range(2))
    assert a.acquire_lock()
    assert not b.acquire_lock()
    wait_for(b.acquire_lock, seconds=2, what="B's leadership")
    ttl = cell.redis.pttl(cell.keys.lock(LOCK))
    assert not a.acquire_lock()
    a._lock_acquired = True  # as it still believes when it wakes
    a.remove_lock()
    assert holder(cell) == b.name
    assert cell.redis.pttl(cell.keys.lock(LOCK)) <= ttl
    b.remove_lock()
    assert a.acquire_lock()


def test_a_leader_that_loses_the_lock_in_a_round_stops_in_it(cell: Engine) -> None:
    ran: list[str] = []

    def steal(_: Context) -> int:
        ran.append("first")
        cell.redis.set(cell.keys.lock(LOCK), "somebody else", px=10_000)
        return 0

    duties = [Duty("first", steal, every_s=0.1), Duty("second", lambda _: ran.append("second") or 0, every_s=0.1)]
    scheduler = Scheduler(cell, duties)
    scheduler._round()
    assert ran == ["first"]
    assert not scheduler.leads


def test_it_registers_as_rq_scheduler_does_and_again_when_that_was_lost(cell: Engine) -> None:
    scheduler = Scheduler(cell, [])
    scheduler._round()
    assert cell.redis.hexists(scheduler.key, "birth")
    assert 0 < cell.redis.ttl(scheduler.key) <= 11
    cell.redis.delete(scheduler.key)
    scheduler._round()
    assert cell.redis.hexists(scheduler.key, "birth")
    scheduler._leave()
    assert cell.redis.hexists(scheduler.key, "death")
    assert holder(cell) == ""


def test_the_loop_survives_whatever_redis_does(cell: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    scheduler = Scheduler(cell, [Duty("d", lambda _: ran.append(1) or 0, every_s=0.0)])
    assert scheduler._round() <= 1.0
    monkeypatch.setattr(cell.scripts, "lock", lambda *_: (_ for _ in ()).throw(OSError("broken")))
    assert scheduler._round() == module.ROUND_S
    assert not scheduler.leads
    monkeypatch.undo()
    scheduler._round()
    assert scheduler.leads
    assert len(ran) == 2


def test_an_outage_in_the_middle_of_a_round_ends_the_round_and_nothing_else(cell: Engine) -> None:
    def breaks(_: Context) -> int:
        cell.scripts.lock = lambda *_: (_ for _ in ()).throw(OSError("broken"))  # type: ignore[method-assign]
        return 0

    scheduler = Scheduler(cell, [Duty("a", breaks, every_s=0.0), Duty("b", lambda _: 0, every_s=0.0)])
    scheduler._round()
    assert not scheduler.leads


def test_once_does_everything_whoever_leads_and_tells_all_failures(cell: Engine) -> None:
    cell.scripts.lock(LOCK, "somebody else", 60_000)
    job = new_job(delay_ms=1)
    cell.scripts.enqueue(job)
    wait_for(lambda: cell.scripts.now_ms() > 0 and cell.redis.zcount("rq:scheduler:scheduled_jobs", 0, time.time()))
    left = [2]

    def work(_: Context) -> int:
        left[0] -= 1
        return max(0, left[0])

    def fail(_: Context) -> int:
        raise RuntimeError("broken")

    scheduler = Scheduler(cell, [Duty("bad", fail, every_s=1), Duty("good", work, every_s=1)])
    with pytest.raises(ExceptionGroup) as raised:
        scheduler.run_once()
    assert [str(error) for error in raised.value.exceptions] == ["broken"]
    assert waiting(cell) == [job.id]
    assert left == [0]
    assert Scheduler(cell, [Duty("good", lambda _: 0, every_s=1)]).run_once() == {"promotion and rescue": 0, "good": 0}


def test_nothing_in_the_sorted_set_is_ever_unpickled(cell: Engine) -> None:
    """A pickle planted there by hand is moved as an id, like any job of plain rq-scheduler."""
    boom = b"cos\nsystem\n(S'touch /tmp/pwned'\ntR."
    cell.redis.hset("rq:job:evil", mapping={"data": boom, "origin": "default", "status": "scheduled"})
    cell.redis.zadd("rq:scheduler:scheduled_jobs", {"evil": 1})
    assert Scheduler(cell, []).enqueue_jobs() == 1
    assert cell.redis.lrange("rq:queue:default", 0, -1) == [b"evil"]
