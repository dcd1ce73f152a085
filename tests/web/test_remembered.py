"""What takes long to read is kept for a while."""

from __future__ import annotations

import pytest

from jobops.web import remembered
from jobops.web.remembered import Remembered


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now, self.reads = 1000.0, 0

    def monotonic(self) -> float:
        return self.now

    def read_in(self, seconds: float) -> int:
        self.now += seconds
        self.reads += 1
        return self.reads


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(remembered, "time", made)
    monkeypatch.setattr(remembered, "TIMES", 20)
    return made


def test_a_slow_one_is_kept_for_twenty_times_as_long_as_it_took(clock: Clock) -> None:
    kept: Remembered[int] = Remembered(quick_s=0.1, most_s=60.0)
    assert kept.get("a", lambda: clock.read_in(0.5)) == 1
    clock.now += 9.9
    assert kept.get("a", lambda: clock.read_in(0.5)) == 1
    clock.now += 0.2
    assert kept.get("a", lambda: clock.read_in(0.5)) == 2


def test_a_quick_one_is_read_each_time(clock: Clock) -> None:
    kept: Remembered[int] = Remembered(quick_s=0.1, most_s=60.0)
    assert [kept.get("a", lambda: clock.read_in(0.09)) for _ in range(3)] == [1, 2, 3]


def test_none_is_kept_for_longer_than_it_may_and_no_more_than_there_is_room_for(clock: Clock) -> None:
    kept: Remembered[int] = Remembered(quick_s=0.1, most_s=5.0, size=2)
    assert [kept.get(key, lambda: clock.read_in(1.0)) for key in ("a", "b", "c")] == [1, 2, 3]
    assert [kept.get(key, lambda: clock.read_in(0.0)) for key in ("b", "c")] == [2, 3]
    assert kept.get("a", lambda: clock.read_in(0.0)) == 4
    clock.now += 5.1
    assert kept.get("c", lambda: clock.read_in(0.0)) == 5
    kept.forget()
    assert kept.get("c", lambda: clock.read_in(0.0)) == 6


def test_what_could_not_be_read_is_asked_for_again(clock: Clock) -> None:
    kept: Remembered[int] = Remembered(quick_s=0.0, most_s=5.0)

    def broken() -> int:
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        kept.get("a", broken)
    assert kept.get("a", lambda: clock.read_in(1.0)) == 1
