"""A tenant's condition, from its own numbers."""

from __future__ import annotations

import pytest

from jobops.metrics.condition import Condition, Signs, condition_of


@pytest.mark.parametrize(
    ("signs", "condition"),
    [
        (Signs(), Condition.CALM),
        (Signs(depth=99, ended=0), Condition.CALM),
        (Signs(depth=1204, ended=300), Condition.FLOODING),
        (Signs(depth=1204, ended=2000), Condition.CALM),
        (Signs(depth=1204, ended=2000, running=12, cap=12), Condition.AT_CAP),
        (Signs(depth=3, running=12, cap=None), Condition.CALM),
        (Signs(depth=0, running=12, cap=12), Condition.CALM),
        (Signs(depth=5, oldest_s=601), Condition.LATE),
        (Signs(depth=5, oldest_urgent_s=61), Condition.LATE),
        (Signs(depth=5, oldest_s=61), Condition.CALM),
        (Signs(depth=1204, oldest_s=9999, paused=True), Condition.PAUSED),
        (Signs(starts=19, retries=19), Condition.CALM),
        (Signs(starts=100, retries=11), Condition.RETRYING),
        (Signs(starts=100, retries=10), Condition.CALM),
        (Signs(intake_closed=True), Condition.CLOSED),
        (Signs(overdue=1), Condition.OVERDUE),
    ],
)
def test_the_most_urgent_sign_names_the_condition(signs: Signs, condition: Condition) -> None:
    assert condition_of(signs) is condition
