"""Corners of upkeep: holds of any length, long jobs, deleted tenants, large deaths."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.keys import RQ_QUEUES
from jobops.engine.records import Outcome, Policy
from tests.engine.helpers import Slot, expire, job


@pytest.fixture(autouse=True)
def acme(engine: Engine) -> None:
    engine.scripts.set_policy(Policy("acme"))


@pytest.mark.parametrize(("first", "second"), [(60_000, 30_000), (10_000, 30_000), (30_000, 10_000)])
def test_a_hold_counts_for_rescuers_that_would_hold_shorter_or_longer(engine: Engine, first: int, second: int) -> None:
    """Worker and scheduler may be set to different leases: neither undoes the other's hold after a gap."""
    scripts = engine.scripts
    scripts.enqueue(job("a"))
    Slot(scripts).need()
    expire(engine, "a")
    engine.redis.hset(engine.keys.cell(), "rescue_tick", scripts.now_ms() - 60_000)
    assert scripts.rescue(hold_ms=first).held
    assert scripts.rescue(hold_ms=second).held
    assert scripts.rescue(hold_ms=first).moved == 0


def test_a_long_job_keeps_its_slots_record_by_renewing(engine: Engine) -> None:
    scripts = engine.scripts
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    held = slot.need()
    engine.redis.expire(engine.keys.slot("slot"), 60)
    assert scripts.renew([(held.id, held.token)]) == [True]
    assert engine.redis.ttl(engine.keys.slot("slot")) > 86_400
    assert scripts.abandon("slot") == "retry"


def test_nothing_is_left_of_a_tenant_deleted_while_its_job_ran(engine: Engine) -> None:
    scripts = engine.scripts
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    held = slot.need()
    scripts.drop_policy("acme")
    assert scripts.renew([(held.id, held.token)]) == [True]
    assert slot.settle().outcome == "succeeded"
    assert not engine.redis.exists(engine.keys.tenant("acme"))
    assert engine.redis.sismember(RQ_QUEUES, "rq:queue:acme.bulk")
    scripts.reconcile("acme.bulk")
    assert not engine.redis.sismember(RQ_QUEUES, "rq:queue:acme.bulk")


def test_a_deleted_tenants_queue_is_not_forgotten_while_jobs_wait_in_it(engine: Engine) -> None:
    engine.scripts.enqueue(job("a"))
    engine.scripts.drop_policy("acme")
    engine.scripts.reconcile("acme.bulk")
    assert engine.redis.sismember(RQ_QUEUES, "rq:queue:acme.bulk")


def test_a_batch_of_large_deaths_ends_early_and_loses_none(engine: Engine) -> None:
    scripts = engine.scripts
    scripts.enqueue_many([job(f"j{n}") for n in range(6)])
    slot = Slot(scripts)
    for _ in range(6):
        slot.run(Outcome.failed("poison", "E", "boom", "x" * 10_000))
    assert len(scripts.dead_batch(max_bytes=25_000)) == 3
    assert len(scripts.dead_batch(max_bytes=1)) == 1
    seen = set()
    while batch := scripts.dead_batch(max_bytes=25_000):
        seen |= {death.job_id for death in batch}
        scripts.dead_ack([death.member for death in batch])
    assert seen == {f"j{n}" for n in range(6)}
