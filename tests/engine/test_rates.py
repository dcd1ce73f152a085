"""Rates: so many starts in so much time, by token buckets on Redis's clock; of a resource, a type and a tenant."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

import pytest

from jobops.engine.client import Engine
from jobops.engine.gates import read_gates
from jobops.engine.rates import Rate
from jobops.engine.records import Outcome, Policy
from tests.engine import invariants
from tests.engine.helpers import BOOM, Slot, job, queued
from tests.engine.test_gate_wake_ups import clock, waits
from tests.engine.virtual_time import VirtualScripts

__all__ = ["clock"]  # the fixture
LANES = ["interactive", "bulk"]
Limit = Callable[[VirtualScripts, Rate | None, int], None]


def _resource(scripts: VirtualScripts, rate: Rate | None, version: int) -> None:
    scripts.set_limit("stripe", None, rate)


def _type(scripts: VirtualScripts, rate: Rate | None, version: int) -> None:
    scripts.set_limit("stripe", None, None)
    scripts.set_limit("type:t.work", None, rate)


def _tenant(scripts: VirtualScripts, rate: Rate | None, version: int) -> None:
    scripts.set_limit("stripe", None, None)
    assert scripts.set_policy(Policy("acme", cap=None, rate=rate, version=version))


@pytest.fixture(params=[_resource, _type, _tenant])
def limit(request: pytest.FixtureRequest) -> Limit:
    """Sets a rate for all jobs of these tests."""
    return request.param  # type: ignore[no-any-return]


def starts(scripts: VirtualScripts, at: float, names: Iterator[str]) -> int:
    """How many start at this instant."""
    scripts.set_clock(at)
    started = 0
    while True:
        claim = scripts.claim(next(names), 1, "w", LANES)
        if claim.job is None and claim.wait_ms:
            return started
        started += claim.job is not None


@pytest.fixture
def names() -> Iterator[str]:
    """Slots, each used once."""
    return (f"slot{n}" for n in range(100_000))


def add(scripts: VirtualScripts, count: int) -> None:
    scripts.enqueue_many([job(f"j{n}", resource="stripe") for n in range(count)])


def test_a_rate_and_a_concurrency_together_go_on_window_after_window(engine: Engine, clock: VirtualScripts) -> None:
    """CC-07: 2 per 3 s, 4 at once, 10 jobs: done in 12 to 15 s."""
    clock.set_limit("stripe", 4, Rate(2, 3_000))
    add(clock, 10)
    slots = [Slot(clock, f"slot{n}") for n in range(4)]
    due = [(0.0, n) for n in range(4)]  # each looks again when its job has run for a second, or its sleep is over
    started, ended = [], []
    while due and due[0][0] <= 16_000:
        at, n = heapq.heappop(due)
        clock.set_clock(at)
        if slots[n].held:
            slots[n].settle()
            ended.append(at)
        slots[n].seq += 1
        claim = clock.claim(slots[n].name, slots[n].seq, "w", LANES)
        slots[n].held = claim.job
        started += [at] if claim.job else []
        heapq.heappush(due, (at + (1_000 if claim.job else max(1, claim.wait_ms)), n))
    assert (len(ended), started[:3]) == (10, [0.0, 0.0, 1_500.0])
    assert 12_000 <= max(ended) <= 15_000


def test_a_limit_reached_at_the_start_leaves_every_job_in_exactly_one_place(
    engine: Engine, clock: VirtualScripts, limit: Limit, names: Iterator[str]
) -> None:
    """CC-08: 2 per 10 minutes, 100 added: 2 run, 98 wait, and one more every five minutes."""
    limit(clock, Rate(2, 600_000), 1)
    add(clock, 100)
    assert starts(clock, 0, names) == 2
    waiting = sum(view.waiting for view in read_gates(engine)) + len(queued(engine))
    assert waiting == 98
    invariants.check(engine)
    assert starts(clock, 299_999, names) == 0
    assert [starts(clock, 300_000.0 * n, names) for n in range(1, 5)] == [1, 1, 1, 1]


def test_a_slot_sleeps_until_there_is_a_token_but_not_for_longer_than_it_would(
    clock: VirtualScripts, limit: Limit
) -> None:
    limit(clock, Rate(10, 4_000), 1)
    add(clock, 12)
    for n in range(10):
        Slot(clock, f"s{n}").need()
    assert waits(clock, "idle") == 400
    clock.set_clock(399)
    assert waits(clock, "idle2") == 1
    clock.set_clock(400)
    Slot(clock, "s10").need()


def test_a_full_bucket_holds_no_more_than_its_count(clock: VirtualScripts, limit: Limit, names: Iterator[str]) -> None:
    limit(clock, Rate(3, 1_000), 1)
    add(clock, 20)
    assert starts(clock, 0, names) == 3
    assert starts(clock, 3_600_000, names) == 3


def test_a_clock_that_is_set_back_neither_gives_nor_takes_a_fortune(
    engine: Engine, clock: VirtualScripts, limit: Limit, names: Iterator[str]
) -> None:
    """MA-01: an hour back with an empty bucket: no burst, and the next token comes when it would have come."""
    limit(clock, Rate(2, 2_000), 1)
    add(clock, 30)
    assert starts(clock, 0, names) == 2
    clock.promote()
    back = -3_600_000
    clock.set_clock(back)
    clock.promote()  # whoever looks after time notices
    assert starts(clock, back, names) == 0
    assert starts(clock, back + 999, names) == 0
    assert sum(starts(clock, back + 1_000 + n, names) for n in range(2)) == 1
    assert starts(clock, back + 2_001, names) == 1
    invariants.check(engine)


def test_a_clock_that_jumps_ahead_gives_one_bucketful(
    clock: VirtualScripts, limit: Limit, names: Iterator[str]
) -> None:
    limit(clock, Rate(5, 1_000), 1)
    add(clock, 40)
    assert starts(clock, 0, names) == 5
    assert starts(clock, 86_400_000, names) == 5
    assert starts(clock, 86_400_200, names) == 1


def test_setting_the_same_rate_again_gives_nothing(clock: VirtualScripts, limit: Limit, names: Iterator[str]) -> None:
    """As every worker does when it starts."""
    limit(clock, Rate(2, 10_000), 1)
    add(clock, 20)
    assert starts(clock, 0, names) == 2
    for version in range(2, 6):
        limit(clock, Rate(2, 10_000), version)
    assert starts(clock, 0, names) == 0


def test_a_raised_rate_counts_from_now_on(clock: VirtualScripts, limit: Limit, names: Iterator[str]) -> None:
    """What was gained at the old rate stays gained, and no more: the time before is not counted at the new one."""
    limit(clock, Rate(2, 600_000), 1)
    add(clock, 200)
    assert starts(clock, 0, names) == 2
    clock.set_clock(150_000)
    limit(clock, Rate(100, 1_000), 2)
    assert starts(clock, 150_000, names) == 0
    assert starts(clock, 150_010, names) == 1


def test_a_lowered_rate_leaves_no_more_than_it_holds(clock: VirtualScripts, limit: Limit, names: Iterator[str]) -> None:
    limit(clock, Rate(100, 1_000), 1)
    add(clock, 200)
    limit(clock, Rate(2, 600_000), 2)
    assert starts(clock, 0, names) == 2


def test_without_a_rate_all_start_again(clock: VirtualScripts, limit: Limit, names: Iterator[str]) -> None:
    limit(clock, Rate(1, 600_000), 1)
    add(clock, 30)
    assert starts(clock, 0, names) == 1
    limit(clock, None, 2)
    assert starts(clock, 0, names) == 29


def test_every_start_takes_a_token_also_a_retry(clock: VirtualScripts, limit: Limit, names: Iterator[str]) -> None:
    limit(clock, Rate(3, 600_000), 1)
    clock.enqueue(job("a", resource="stripe", max_attempts=9))
    for n in range(3):
        assert Slot(clock, f"retry{n}").run(BOOM) == "retry"
        clock.promote()
    assert starts(clock, 0, names) == 0


def test_the_first_of_two_limits_that_is_reached_holds_and_takes_no_token_of_the_other(
    engine: Engine, clock: VirtualScripts, names: Iterator[str]
) -> None:
    clock.set_limit("stripe", None, Rate(5, 600_000))
    clock.set_limit("type:t.work", None, Rate(2, 600_000))
    add(clock, 10)
    assert starts(clock, 0, names) == 2
    assert [view.tokens for view in read_gates(engine)] == [3.0, 0.0]


def test_a_tenant_out_of_tokens_is_in_nobodys_way(engine: Engine, clock: VirtualScripts, names: Iterator[str]) -> None:
    """It leaves the ring and is parked; its jobs of another lane wait as well, and other tenants' start."""
    clock.set_policy(Policy("acme", cap=None, rate=Rate(1, 60_000), version=1))
    clock.enqueue_many([job("a"), job("b"), job("c", lane="interactive"), job("d", "beta")])
    assert starts(clock, 0, names) == 2
    assert engine.redis.exists(engine.keys.ring("bulk"), engine.keys.ring("interactive")) == 0
    assert engine.redis.zrange(engine.keys.parked(), 0, -1) == [b"tenant:acme"]
    clock.enqueue(job("e"))
    assert engine.redis.exists(engine.keys.ring("bulk")) == 0
    invariants.check(engine)
    assert starts(clock, 60_000, names) == 1


def test_a_tenant_with_a_rate_that_is_dropped_is_not_parked_any_more(
    engine: Engine, clock: VirtualScripts, names: Iterator[str]
) -> None:
    clock.set_policy(Policy("acme", cap=None, rate=Rate(1, 60_000), version=1))
    clock.enqueue_many([job("a"), job("b")])
    slot = Slot(clock, "slot")
    slot.need()
    slot.settle()
    assert starts(clock, 0, names) == 0
    clock.drop_policy("acme")
    assert engine.redis.exists(engine.keys.parked()) == 0


def test_a_postponed_start_has_cost_its_token(clock: VirtualScripts, limit: Limit, names: Iterator[str]) -> None:
    """The other side counted the call as well."""
    limit(clock, Rate(1, 10_000), 1)
    clock.enqueue(job("a", resource="stripe"))
    Slot(clock, "slot").run(Outcome.postponed(1_000, "Busy"))
    clock.set_clock(1_000)
    clock.promote()
    assert starts(clock, 1_000, names) == 0
    assert starts(clock, 10_000, names) == 1
