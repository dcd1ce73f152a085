"""What a supervisor does again and again: one thing that fails keeps no other from being done."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from jobops.engine.duty import Duty
from jobops.engine.endings import MOST_TRIES, Endings
from jobops.engine.errors import EngineUnavailable
from jobops.engine.fleet import Child, Ended
from jobops.engine.link import is_away, is_starved


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def test_a_failing_duty_waits_longer_each_time_and_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock(monkeypatch)
    times: list[float] = []

    def fails() -> None:
        times.append(clock.now)
        raise EngineUnavailable("promote: WRONGTYPE")

    duty = Duty("promoting", 1.0, fails)
    for _ in range(400):
        duty.attempt()
        clock.now += 0.25
    assert times == [100, 102, 106, 114, 130, 160, 190]
    assert caplog.text.count("promoting failed") == 1


def test_a_duty_may_say_itself_when_it_is_due_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pauses = [0.25, 3.0, None, None]
    duty = Duty("promoting", 1.0, lambda: pauses.pop(0))
    due = []
    for _ in range(3):
        duty.attempt()
        due.append(duty.due - clock.now)
        clock.now = duty.due
    assert due == [0.25, 3.0, 1.0]


def test_a_duty_does_not_hide_that_redis_is_away() -> None:
    def away() -> None:
        raise RedisConnectionError

    with pytest.raises(RedisConnectionError):
        Duty("promoting", 1.0, away).attempt()


def test_one_end_that_redis_refuses_keeps_no_other_from_being_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And is given up after a few tries: a worker must be able to stop."""
    clock = Clock(monkeypatch)
    told: list[str] = []

    def tell(_engine: Any, ending: Any) -> None:
        if ending.slot == "bad":
            raise EngineUnavailable("abandon: WRONGTYPE")
        told.append(ending.slot)

    monkeypatch.setattr("jobops.engine.endings._tell", tell)
    endings = Endings()
    for name in ("bad", "good", "better"):
        endings.add(Ended(Child(0, 1, name, 1, None, -1, 0.0, 0.0, 0.0), 1, None))
    engine: Any = None
    with caplog.at_level(logging.ERROR):
        endings.tell(engine)
        assert told == ["good", "better"]
        for _ in range(60):
            clock.now += 1
            endings.tell(engine)
    assert not endings
    assert caplog.text.count("cannot be told") == MOST_TRIES


def test_an_error_of_this_process_is_no_redis_that_is_away() -> None:
    """A job that took all descriptors must not look like an outage, which would be waited for without end."""
    assert not is_away(OSError(24, "Too many open files"))
    assert is_away(RedisConnectionError("Error 111 connecting"))
    wrapped = RedisConnectionError("Error 24 connecting")
    wrapped.__context__ = OSError(24, "Too many open files")
    assert is_starved(wrapped)
    assert not is_starved(RedisConnectionError("Error 111 connecting"))
