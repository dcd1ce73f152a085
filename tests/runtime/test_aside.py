"""What the scheduler does apart: in a thread of its own, that nothing ends and nothing waits for."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import Policy
from jobops.scheduling.aside import Aside
from jobops.scheduling.duties import Duty
from jobops.scheduling.scheduler import Scheduler
from tests.runtime.factory import new_job, waiting
from tests.tools import wait_for


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_it_works_until_it_is_stopped(stop: threading.Event) -> None:
    kept, worked = threading.Event(), threading.Event()
    aside = Aside("mail", lambda: worked.set() or 0, every_s=0.01, housekeeping=kept.set)
    aside.keep_running(stop)
    assert worked.wait(5)
    assert kept.is_set()
    stop.set()
    assert aside._thread is not None
    aside._thread.join(5)
    assert not aside._thread.is_alive()


def test_a_failure_is_logged_once_and_survived(stop: threading.Event, caplog: pytest.LogCaptureFixture) -> None:
    broken, worked = threading.Event(), threading.Event()
    broken.set()

    def work() -> int:
        if broken.is_set():
            raise OSError("no database")
        worked.set()
        return 0

    aside = Aside("mail", work, every_s=0.01)
    aside.keep_running(stop)
    wait_for(lambda: aside.failures >= 3, what="three failures")
    broken.clear()
    assert worked.wait(5)
    wait_for(lambda: aside.failures == 0, what="relief")
    assert sum(record.message == "mail failed: OSError: no database" for record in caplog.records) == 1


def test_a_dead_thread_is_started_again(stop: threading.Event) -> None:
    """SC-16"""
    aside = Aside("mail", lambda: 0, every_s=0.01)
    stop.set()
    aside.keep_running(stop)
    first = aside._thread
    assert first is not None
    first.join(5)
    stop.clear()
    aside.keep_running(stop)
    assert aside._thread is not first
    assert aside._thread is not None
    assert aside._thread.is_alive()


def test_one_that_hangs_delays_no_duty_no_promotion_and_no_rescue(engine: Engine) -> None:
    """Trap 8"""
    engine.scripts.set_policy(Policy("acme"))
    hangs, let_go, ran = threading.Event(), threading.Event(), threading.Event()

    def hang() -> int:
        hangs.set()
        let_go.wait(60)
        return 0

    scheduler = Scheduler(engine, [Duty("d", lambda _: ran.set() or 0, every_s=0.01)], asides=[Aside("mail", hang)])
    scheduler._install_signal_handlers = lambda: None  # type: ignore[method-assign]  # not the main thread
    thread = threading.Thread(target=scheduler.run, daemon=True)
    thread.start()
    assert hangs.wait(10)
    ran.clear()
    assert ran.wait(10)
    engine.scripts.enqueue(job := new_job(delay_ms=10))
    wait_for(lambda: waiting(engine) == [job.id], what="promotion")
    scheduler.stop.set()
    thread.join(10)
    assert not thread.is_alive()
    let_go.set()


def test_once_does_all_there_is_and_tells_what_failed(engine: Engine) -> None:
    left = [3, 2, 0]
    good = Aside("mail", lambda: left.pop(0))
    assert Scheduler(engine, [], asides=[good]).run_once() == {"promotion and rescue": 0, "mail": 5}

    def fails() -> int:
        raise OSError("no database")

    ran = threading.Event()
    asides = [Aside("bad", fails), Aside("good", lambda: ran.set() or 0)]
    with pytest.raises(ExceptionGroup) as raised:
        Scheduler(engine, [], asides=asides).run_once()
    assert [str(error) for error in raised.value.exceptions] == ["no database"]
    assert ran.is_set()
