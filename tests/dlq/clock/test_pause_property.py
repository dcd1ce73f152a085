"""Whatever is paused, moved and resumed, in whatever order: the clock shows the seconds in which it was not paused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from dlq.clock.draining import marks
from dlq.clock.pauses import is_paused, pause, resume
from dlq.clock.standing import letter_standing
from dlq.models import DeadLetter

T0 = datetime(2026, 3, 12, 8, 0, tzinfo=UTC)
SLA_S = 14_400
STEPS = st.lists(
    st.tuples(st.integers(0, 9_000), st.one_of(st.none(), st.integers(1, 20_000))), min_size=1, max_size=12
)
"""Each: so many seconds later pause for so many seconds, or (None) resume."""


def after(seconds: int) -> datetime:
    return T0 + timedelta(seconds=seconds)


@given(STEPS, st.integers(0, 30_000))
def test_it_shows_the_seconds_in_which_it_was_not_paused(steps: list[tuple[int, int | None]], rest: int) -> None:
    it = DeadLetter(dead_at=T0, due_at=after(SLA_S), sla_s=SLA_S)
    now, shown, until = 0, 0, 0
    for wait, length in steps:
        shown += max(0, now + wait - max(now, until))
        now += wait
        if length is not None:
            until = now + length
            pause(it, at=after(now), until=after(until), reason="r")
        elif is_paused(it, after(now)):
            until = now
            resume(it, at=after(now))
        assert it.due_at == after(SLA_S + it.clock_paused_s)
    shown += max(0, now + rest - max(now, until))
    now += rest
    assert marks(it, after(now))["drain_s"] == shown
    stands = letter_standing(it, after(now))
    assert round(stands.used * SLA_S) == shown
    assert stands.late == (shown >= SLA_S)
    it.drained_at = after(now)
    assert letter_standing(it, after(now + 99_999)).late == (shown > SLA_S)
