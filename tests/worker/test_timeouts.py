"""The soft time-out's exactness: nested, restored, swallowed, and never outside its stretch."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from jobops.engine.timeouts import JobTimeout, SoftTimeout


def test_a_long_stretch_is_interrupted_and_a_short_one_is_not() -> None:
    alarm = SoftTimeout()
    with pytest.raises(JobTimeout, match=r"0\.05 s"), alarm(0.05):
        time.sleep(5)
    assert alarm.fired
    with alarm(5):
        pass
    assert not alarm.fired
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_except_exception_does_not_swallow_it() -> None:
    alarm = SoftTimeout()
    with pytest.raises(JobTimeout), alarm(0.05), contextlib.suppress(Exception):
        time.sleep(5)


def test_one_that_is_swallowed_fires_again_and_is_remembered() -> None:
    alarm = SoftTimeout()
    interrupted = 0
    began = time.monotonic()
    with alarm(0.05):
        while interrupted < 2 and time.monotonic() - began < 10:
            try:
                time.sleep(10)
            except BaseException:  # noqa: BLE001
                interrupted += 1
    assert interrupted == 2
    assert alarm.fired


def test_nested_stretches_each_keep_their_own_limit() -> None:
    alarm = SoftTimeout()
    with alarm(30):
        with pytest.raises(JobTimeout, match=r"0\.05 s"), alarm(0.05):
            time.sleep(5)
        left, interval = signal.getitimer(signal.ITIMER_REAL)
        assert 20 < left < 30
        assert interval == pytest.approx(1.0)
        assert alarm.fired


def test_the_outer_limit_also_holds_inside_an_inner_stretch() -> None:
    alarm = SoftTimeout()
    with pytest.raises(JobTimeout, match=r"0\.05 s"), alarm(0.05), alarm(30):
        time.sleep(5)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_somebody_elses_timer_and_handler_are_put_back() -> None:
    struck: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: struck.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with SoftTimeout()(30):
            pass
        end = time.monotonic() + 5
        while not struck and time.monotonic() < end:
            time.sleep(0.01)
        assert struck == [1]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_one_that_passed_inside_the_stretch_strikes_right_after_it() -> None:
    struck: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: struck.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        alarm = SoftTimeout()
        with pytest.raises(JobTimeout), alarm(0.5):
            time.sleep(2)
        end = time.monotonic() + 5
        while not struck and time.monotonic() < end:
            time.sleep(0.01)
        assert struck == [1]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds"):
        SoftTimeout()(seconds)


def test_thousands_of_stretches_at_their_limit_leave_nothing_armed() -> None:
    """The alarm lands anywhere: in the work, on the way in, on the way out."""
    alarm = SoftTimeout()
    handler = signal.getsignal(signal.SIGALRM)
    late = 0
    for turn in range(3000):
        try:
            with alarm(0.00001 + turn % 50 / 1_000_000):
                for _ in range(20 if turn % 3 else 5000):  # some end in time, on whatever machine, and some do not
                    pass
        except JobTimeout:
            late += 1
        assert not alarm._stack
        assert signal.getsignal(signal.SIGALRM) == handler
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert late > 0


def interrupted_in(method: Callable[..., object]) -> FrameType:
    """A frame as a signal's handler gets it when the signal lands inside this method."""
    frame: Any = SimpleNamespace(f_code=method.__code__)  # type: ignore[attr-defined]
    return frame


def test_an_alarm_on_the_way_out_is_no_time_out() -> None:
    """The work was done in time; and an exception here would leave the timer armed for whatever comes next."""
    alarm = SoftTimeout()
    with alarm(30):
        alarm._strike(signal.SIGALRM, interrupted_in(SoftTimeout.__exit__))
        assert not alarm.fired


def test_an_alarm_on_the_way_in_comes_back_in_a_moment() -> None:
    alarm = SoftTimeout()
    with alarm(0.2):
        alarm._strike(signal.SIGALRM, interrupted_in(SoftTimeout.__enter__))
        assert not alarm.fired
        with pytest.raises(JobTimeout):
            time.sleep(5)
    assert alarm.fired


def test_an_alarm_of_somebody_else_is_no_time_out_and_does_not_cancel_one() -> None:
    """A stray SIGALRM, and a timer that the work sets for itself: the work's own deadline holds, and no other."""
    alarm = SoftTimeout()
    began = time.monotonic()

    def work() -> None:
        os.kill(os.getpid(), signal.SIGALRM)
        assert not alarm.fired
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0)
        time.sleep(0.2)
        assert not alarm.fired
        time.sleep(5)

    with pytest.raises(JobTimeout), alarm(0.6):
        work()
    assert 0.6 <= time.monotonic() - began < 4
