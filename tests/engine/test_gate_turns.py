"""Tenants take turns at a gate, by weight: nobody waits behind another's ten thousand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import Slot, job

numbers = count()


@pytest.fixture
def holder(scripts: Scripts) -> Slot:
    """It holds the only place at the gate."""
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue(job("holder", "beta", resource="stripe"))
    slot = Slot(scripts, "holder")
    slot.need()
    return slot


def all_wait(scripts: Scripts, slug: str, count: int, lane: str = "bulk") -> None:
    """So many jobs of this tenant wait at the gate."""
    scripts.enqueue_many([job(f"{slug}-{lane}-{n}", slug, lane, resource="stripe") for n in range(count)])
    nobody_starts(scripts)


def nobody_starts(scripts: Scripts) -> None:
    """All that stands in a queue meets the closed gate."""
    assert Slot(scripts, f"filler{next(numbers)}").claim() is None


def offered(engine: Engine, holder: Slot) -> Iterator[str]:
    """Who is offered the place each time it is free; he takes it."""
    while True:
        holder.settle()
        (queue,) = (q for q in engine.redis.keys("rq:queue:*"))
        (job_id,) = engine.redis.lrange(queue, 0, -1)
        assert holder.need().id == job_id.decode()
        yield queue.decode().removeprefix("rq:queue:")


def test_one_that_comes_after_three_hundred_of_another_tenant_is_next_but_one(
    engine: Engine, scripts: Scripts, holder: Slot
) -> None:
    """CC-12, CC-13 at a gate."""
    all_wait(scripts, "acme", 300)
    turns = offered(engine, holder)
    assert [next(turns) for _ in range(3)] == ["acme.bulk"] * 3
    all_wait(scripts, "beta", 1)
    assert "beta.bulk" in {next(turns), next(turns)}


def test_turns_go_by_weight(engine: Engine, scripts: Scripts, holder: Slot) -> None:
    scripts.set_policy(Policy("acme", weight=3.0, cap=None, version=1))
    all_wait(scripts, "acme", 30)
    all_wait(scripts, "beta", 30)
    turns = offered(engine, holder)
    got = Counter(next(turns) for _ in range(20))
    assert got == {"acme.bulk": 15, "beta.bulk": 5}


def test_a_lanes_share_counts_at_a_gate_as_well(engine: Engine, scripts: Scripts, holder: Slot) -> None:
    all_wait(scripts, "acme", 30, "interactive")
    all_wait(scripts, "acme", 30, "bulk")
    turns = offered(engine, holder)
    got = Counter(next(turns) for _ in range(20))
    assert got == {"acme.interactive": 16, "acme.bulk": 4}


def test_who_waits_again_and_again_with_one_job_does_not_starve_who_waits_with_many(
    engine: Engine, scripts: Scripts, holder: Slot
) -> None:
    """A queue that leaves the turns, as its line is empty, does not come in anew as if it had had none."""
    all_wait(scripts, "beta", 30)
    got: Counter[str] = Counter()
    turns = offered(engine, holder)
    for n in range(12):
        scripts.enqueue(job(f"again{n}", "acme", resource="stripe"))
        nobody_starts(scripts)
        got[next(turns)] += 1
    assert abs(got["acme.bulk"] - got["beta.bulk"]) <= 1


def test_the_order_within_a_queue_is_kept_however_often_somebody_was_quicker(
    engine: Engine, scripts: Scripts, holder: Slot
) -> None:
    """Also of those that became runnable in one millisecond. One that was sent back in vain keeps its place."""
    order = [f"j{9 - n}" for n in range(6)]  # not the order of their names
    scripts.enqueue_many([job(name, resource="stripe") for name in order])
    nobody_starts(scripts)
    ran = []
    while len(ran) < 6:
        holder.settle()
        scripts.enqueue(job(f"quick{len(ran)}", "beta", resource="stripe", front=True))
        engine.redis.zadd(engine.keys.ring("bulk"), {"beta": -1.0})  # whose turn it is in the ring
        engine.redis.hset(engine.keys.tenant("beta"), "vt:bulk", -1)
        assert holder.need().tenant == "beta"
        nobody_starts(scripts)  # the one that was sent back waits again
        holder.settle()
        ran.append(holder.need().id)
    assert ran == order
