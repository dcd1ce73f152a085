"""How a clock stands, at each of its instants and through pauses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dlq.clock.pauses import is_paused, pause, resume
from dlq.clock.standing import Kind, Standing, letter_standing, standing
from dlq.models import DeadLetter

T0 = datetime(2026, 3, 12, 8, 0, tzinfo=UTC)
SLA = timedelta(hours=4)


def hours(count: float) -> datetime:
    return T0 + timedelta(hours=count)


def at(hour: float, **fields: object) -> Standing:
    terms = {"dead_at": T0, "due_at": T0 + SLA, "sla_s": 14400, "paused_until": None, "drained_at": None}
    return standing(**(terms | fields), now=hours(hour))  # type: ignore[arg-type]


def letter() -> DeadLetter:
    return DeadLetter(dead_at=T0, due_at=T0 + SLA, sla_s=14400)


@pytest.mark.parametrize(
    ("hour", "kind", "used", "late"),
    [
        (0, Kind.ON_TRACK, 0.0, False),
        (2.9, Kind.ON_TRACK, 0.725, False),
        (3, Kind.WARNING, 0.75, False),
        (3.99, Kind.WARNING, 0.9975, False),
        (4, Kind.BREACHED, 1.0, True),
        (8, Kind.BREACHED, 2.0, True),
    ],
)
def test_it_is_on_track_warns_from_three_quarters_and_is_breached_when_due(
    hour: float, kind: Kind, used: float, late: bool
) -> None:
    assert at(hour) == Standing(kind, pytest.approx(used), late)


def test_what_was_drained_in_time_or_late_stays_so() -> None:
    assert at(99, drained_at=hours(2)) == Standing(Kind.DRAINED, 0.5, False)
    assert at(99, drained_at=hours(4)) == Standing(Kind.DRAINED, 1.0, False)
    assert at(99, drained_at=hours(6)) == Standing(Kind.DRAINED, 1.5, True)


def test_without_a_known_sla_the_time_to_the_due_time_is_the_whole() -> None:
    assert at(3, sla_s=0).kind is Kind.WARNING
    assert at(1, sla_s=0, due_at=T0).kind is Kind.BREACHED


def test_a_paused_clock_shows_what_it_did_when_the_pause_began_and_goes_on_by_itself() -> None:
    it = letter()
    pause(it, at=hours(2), until=hours(12), reason="provider")
    assert (it.due_at, it.clock_paused_s) == (hours(14), 36_000)
    for hour in (2, 7, 11.9):
        assert letter_standing(it, hours(hour)) == Standing(Kind.PAUSED, 0.5, False)
    assert letter_standing(it, hours(13)) == Standing(Kind.WARNING, 0.75, False)
    assert letter_standing(it, hours(14)).kind is Kind.BREACHED
    assert not is_paused(it, hours(12))


def test_resumed_early_the_rest_of_the_pause_comes_off() -> None:
    it = letter()
    pause(it, at=hours(2), until=hours(12), reason="provider")
    resume(it, at=hours(3))
    assert (it.due_at, it.clock_paused_s, it.clock_paused_until) == (hours(5), 3600, None)
    assert letter_standing(it, hours(3)) == Standing(Kind.ON_TRACK, 0.5, False)


def test_paused_again_only_the_end_moves_to_and_fro() -> None:
    it = letter()
    pause(it, at=hours(2), until=hours(6), reason="a")
    pause(it, at=hours(3), until=hours(12), reason="b")
    assert (it.due_at, it.clock_paused_at, it.clock_paused_until) == (hours(14), hours(2), hours(12))
    pause(it, at=hours(4), until=hours(5), reason="c")
    assert (it.due_at, it.clock_paused_s, it.clock_pause_reason) == (hours(7), 3 * 3600, "c")
    # A second pause, when the first is over, comes to it.
    pause(it, at=hours(6), until=hours(7), reason="d")
    assert (it.due_at, it.clock_paused_s, it.clock_paused_at) == (hours(8), 4 * 3600, hours(6))


def test_a_pause_mends_no_breach() -> None:
    it = letter()
    pause(it, at=hours(5), until=hours(50), reason="too late")
    assert letter_standing(it, hours(6)) == Standing(Kind.PAUSED, 1.25, True)
    it.drained_at = hours(7)
    assert letter_standing(it, hours(99)) == Standing(Kind.DRAINED, 1.25, True)
    it.drained_at = None
    assert letter_standing(it, hours(50)) == Standing(Kind.BREACHED, 1.25, True)
    resume(it, at=hours(6))
    assert it.due_at == hours(5)
    assert letter_standing(it, hours(6)) == Standing(Kind.BREACHED, 1.25, True)
