"""Ids that stand in a queue without a job: passed over, a bounded number for a tenant before the next one's turn."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import Slot, job, queued

COUNT = 1_000


def vanish(engine: Engine, ids: list[str]) -> None:
    engine.redis.delete(*[f"rq:job:{name}" for name in ids])


def change(engine: Engine, ids: list[str]) -> None:
    """By an outsider, who does not take them out of the queue."""
    with engine.redis.pipeline() as pipe:
        for name in ids:
            pipe.hset(f"rq:job:{name}", "status", "canceled")
            pipe.expire(f"rq:job:{name}", 500)
        pipe.execute()


@pytest.mark.parametrize("entomb", [vanish, change])
def test_a_thousand_tombstones_delay_no_other_tenant(engine: Engine, scripts: Scripts, entomb: object) -> None:
    """I5: no tenant waits for another tenant's tombstones."""
    ids = [f"t{n}" for n in range(COUNT)]
    scripts.enqueue_many([job(name) for name in ids])
    scripts.enqueue(job("last"))
    entomb(engine, ids)  # type: ignore[operator]
    scripts.enqueue(job("quiet", tenant="beta"))
    answer = scripts.claim("s", 1, "w", ["bulk"])
    assert answer.job is not None
    assert answer.job.id == "quiet"
    assert len(queued(engine)) >= COUNT - 16
    slot = Slot(scripts, "s2")
    assert slot.need().id == "last"
    assert slot.claim() is None
    invariants.check(engine)


def test_one_call_passes_a_bounded_number_and_asks_to_be_called_again(engine: Engine, scripts: Scripts) -> None:
    ids = [f"t{n}" for n in range(3 * COUNT)]
    scripts.enqueue_many([job(name) for name in ids])
    vanish(engine, ids)
    seq, left = 0, len(ids)
    while left:
        seq += 1
        answer = scripts.claim("s", seq, "w", ["bulk"])
        now = len(queued(engine))
        assert left - now <= 1_024
        assert (answer.job, answer.wait_ms) == (None, 0 if now else answer.wait_ms)
        left = now
    assert Slot(scripts, "s2").claim() is None


def test_a_tenant_whose_queue_held_only_tombstones_leaves_the_ring(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    vanish(engine, ["a", "b"])
    assert Slot(scripts).claim() is None
    assert engine.redis.zcard(engine.keys.ring("bulk")) == 0
    assert engine.redis.zcard(engine.keys.active("bulk")) == 0


def test_a_queue_that_an_outsider_emptied_stops_nobody(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b", tenant="beta")])
    engine.redis.delete("rq:queue:acme.bulk", "rq:job:a")
    assert Slot(scripts).need().id == "b"


def test_many_tenants_without_work_do_not_hide_the_one_that_has_some(engine: Engine, scripts: Scripts) -> None:
    """More ring entries than one call looks at: it says to ask again at once."""
    scripts.enqueue(job("real"))
    ring, active = engine.keys.ring("bulk"), engine.keys.active("bulk")
    engine.redis.zadd(ring, {f"ghost{n}": -1 - n for n in range(150)})
    engine.redis.zadd(active, {f"ghost{n}": 1 for n in range(150)})
    first = scripts.claim("s", 1, "w", ["bulk"])
    assert (first.job, first.wait_ms) == (None, 0)
    assert Slot(scripts, "s2").need().id == "real"
    engine.redis.zrem(active, *[f"ghost{n}" for n in range(150)])
