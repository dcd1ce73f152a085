"""The waits between attempts."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobops.contracts.backoff import DEFAULT_CAP, Backoff
from jobops.contracts.faults import Kind

RNG = random.Random(1)


def waits(backoff: Backoff, attempts: int = 6) -> list[float]:
    return [backoff.delay(attempt, RNG) for attempt in range(1, attempts + 1)]


def test_an_exponential_delay_never_overflows_and_never_leaves_its_bounds() -> None:
    """RT-04"""
    backoff = Backoff.exponential(base="1s", factor=2, cap=3600)
    delays = waits(backoff, 1100)
    assert all(0 <= delay <= 3600 for delay in delays)
    assert delays[46] > 0
    assert backoff.ceiling(10**9) == 3600


def test_exponential_doubles_up_to_its_cap() -> None:
    assert waits(Backoff.exponential(base="1s", cap="10s", jitter="none")) == [1, 2, 4, 8, 10, 10]


def test_full_jitter_draws_from_the_whole_range() -> None:
    backoff = Backoff.exponential(base="8s", cap="8s")
    drawn = [backoff.delay(1, RNG) for _ in range(500)]
    assert min(drawn) < 1
    assert max(drawn) > 7
    assert 3.3 < sum(drawn) / len(drawn) < 4.7


def test_fixed_linear_and_listed_delays() -> None:
    assert waits(Backoff.fixed("30s"), 3) == [30, 30, 30]
    assert waits(Backoff.linear("10s", cap="25s"), 4) == [10, 20, 25, 25]
    assert waits(Backoff.delays(["1s", "5s", "30s"]), 5) == [1, 5, 30, 30, 30]


@given(
    base=st.one_of(st.integers(0, 10**6), st.floats(0, 1e6)),
    factor=st.floats(1, 1000),
    cap=st.floats(0, 1e6),
    attempt=st.integers(-5, 10**7),
    kind=st.sampled_from(["exponential", "linear", "fixed", "delays"]),
    jitter=st.sampled_from(["full", "none"]),
    seed=st.integers(0, 2**32),
)
def test_every_delay_lies_between_nothing_and_the_cap(
    base: float, factor: float, cap: float, attempt: int, kind: str, jitter: Any, seed: int
) -> None:
    """RT-04"""
    made = {
        "exponential": lambda: Backoff.exponential(base, factor, cap, jitter),
        "linear": lambda: Backoff.linear(base, cap, jitter),
        "fixed": lambda: Backoff.fixed(base, jitter),
        "delays": lambda: Backoff.delays([base, cap], jitter),
    }[kind]()
    assert not made.faults
    assert 0 <= made.delay(attempt, random.Random(seed)) <= made.cap_s


@pytest.mark.parametrize("make", [Backoff.exponential, Backoff.linear])
def test_a_backoff_without_a_cap_is_a_fault_and_still_has_a_bound(make: Any) -> None:
    backoff = make(base="1s")
    assert [fault.kind for fault in backoff.faults] == [Kind.BACKOFF_CAP]
    assert backoff.delay(500, RNG) <= DEFAULT_CAP.total_seconds()


@pytest.mark.parametrize(
    ("backoff", "argument"),
    [
        (Backoff.exponential(base="1 parsec", cap="5m"), "base"),
        (Backoff.exponential(base="1s", cap=-1), "cap"),
        (Backoff.exponential(base="1s", cap="5m", factor=0.5), "factor"),
        (Backoff.exponential(base="1s", cap="5m", factor=float("nan")), "factor"),
        (Backoff.exponential(base="1s", cap="5m", jitter="half"), "jitter"),  # type: ignore[arg-type]
        (Backoff.fixed(None), "delay"),  # type: ignore[arg-type]
        (Backoff.delays([]), "delays"),
        (Backoff.delays("1s"), "delays"),
        (Backoff.delays(["1s", "soon"]), "delays[1]"),
    ],
)
def test_a_bad_value_is_a_fault_with_a_hint_and_a_safe_one_is_used(backoff: Backoff, argument: str) -> None:
    (fault,) = backoff.faults
    assert argument in fault.argument
    assert fault.hint
    assert all(0 <= delay <= backoff.cap_s for delay in waits(backoff, 50))


def test_a_backoff_says_what_it_does() -> None:
    shown = str(Backoff.exponential(base="1s", cap="5m"))
    assert shown == "exponential 1s × 2, at most 5m, full jitter"
    assert str(Backoff.delays(["1s", "90s"])) == "delays 1s, 1m30s"
