"""Promotion and rescue batch by batch: how much in one call, and when to come again."""

from __future__ import annotations

import logging

import pytest

from jobops.engine.client import Engine
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.scripts import Scripts
from jobops.engine.sweeps import BATCH_SECONDS, LEAST_SECONDS, PAUSE_SECONDS, RECENT, Batch, Promotion, Rescue
from tests.engine.helpers import Slot, expire, job, queued, slots

EVERY_S = 0.25
LOG = logging.getLogger("jobops.worker")


def small(sweep: Promotion | Rescue, size: int = 2) -> None:
    """Makes its batches so small, whatever they take."""
    sweep.batch = Batch(size, least=size, most=size)


def delayed(engine: Engine, ids: list[str], in_s: float) -> None:
    engine.scripts.enqueue_many([job(each, delay_ms=60_000) for each in ids])
    engine.redis.zadd(RQ_SCHEDULED, dict.fromkeys(ids, engine.scripts.now_ms() / 1000 + in_s), xx=True)


def lost(engine: Engine, ids: list[str]) -> None:
    engine.scripts.enqueue_many([job(each) for each in ids])
    for each, slot in zip(ids, slots(engine.scripts, len(ids)), strict=True):
        slot.need()
        expire(engine, each)


@pytest.mark.parametrize(
    ("took", "size"),
    [(BATCH_SECONDS, 100), (BATCH_SECONDS * 2, 50), (BATCH_SECONDS * 100, 50), (BATCH_SECONDS / 100, 150), (0.0, 150)],
)
def test_a_batch_becomes_as_large_as_redis_manages_in_time(took: float, size: int) -> None:
    batch = Batch(100, least=1, most=1000)
    batch.took(took)
    assert batch.size == size


def test_single_late_answers_do_not_make_batches_smaller_and_a_slower_redis_does() -> None:
    """What makes an answer late is not always the batch; and small batches cost more for each job."""
    batch = Batch(100, least=1, most=1000)
    for n in range(40):
        batch.took(batch.size * BATCH_SECONDS / 100 * (9 if n % RECENT in {1, 3, 6} else 1))
    assert 95 <= batch.size <= 100
    for _ in range(40):
        batch.took(batch.size * BATCH_SECONDS / 25)
    assert 24 <= batch.size <= 25


def test_a_batch_stays_within_its_bounds() -> None:
    batch = Batch(100, least=80, most=120)
    batch.took(1.0)
    assert batch.size == 80
    for _ in range(5):
        batch.took(0.0)
    assert batch.size == 120


def test_promotion_goes_on_while_more_is_due_and_then_waits(engine: Engine, scripts: Scripts) -> None:
    promotion = Promotion(engine, EVERY_S)
    small(promotion)
    delayed(engine, ["a", "b", "c"], -1)
    assert promotion.step() == PAUSE_SECONDS
    assert promotion.step() == EVERY_S
    assert queued(engine) == ["a", "b", "c"]


def test_entries_without_a_job_do_not_hold_up_what_is_due_behind_them(engine: Engine, scripts: Scripts) -> None:
    promotion = Promotion(engine, EVERY_S)
    small(promotion)
    delayed(engine, ["a"], -1)
    engine.redis.zadd(RQ_SCHEDULED, {"ghost": 1, "spectre": 2})
    assert promotion.step() == PAUSE_SECONDS
    promotion.step()
    assert queued(engine) == ["a"]


@pytest.mark.parametrize(("in_s", "least", "most"), [(0.02, 0.05, 0.05), (0.2, 0.1, 0.21), (50, 0.25, 0.25)])
def test_promotion_comes_when_the_next_job_is_due(
    engine: Engine, scripts: Scripts, in_s: float, least: float, most: float
) -> None:
    """To the instant (rounded up to the ms), but not for every single one of thousands; and often enough for those that
    come meanwhile."""
    assert LEAST_SECONDS == 0.05
    delayed(engine, ["a"], in_s)
    assert least <= Promotion(engine, EVERY_S).step() <= most


def test_promotion_is_not_held_up_by_its_own_last_look(engine: Engine, scripts: Scripts) -> None:
    promotion = Promotion(engine, 60.0)
    promotion.step()
    delayed(engine, ["a"], -1)
    promotion.step()
    assert queued(engine) == ["a"]


def test_one_process_promotes_and_the_others_leave_it_to_it(engine: Engine, scripts: Scripts) -> None:
    one, two = Promotion(engine, 60.0), Promotion(engine, 60.0)
    small(one)
    small(two)
    delayed(engine, ["a", "b", "c", "d"], -1)
    assert one.step() == PAUSE_SECONDS
    assert two.step() == 60.0
    assert len(queued(engine)) == 2
    one.step()
    assert len(queued(engine)) == 4


def test_rescue_goes_on_while_more_ran_out_and_tells_of_it_once(
    engine: Engine, scripts: Scripts, caplog: pytest.LogCaptureFixture
) -> None:
    rescue = Rescue(engine, EVERY_S, 30_000, LOG)
    small(rescue)
    lost(engine, [f"j{n}" for n in range(5)])
    with caplog.at_level(logging.WARNING):
        assert [rescue.step() for _ in range(3)] == [PAUSE_SECONDS, PAUSE_SECONDS, EVERY_S]
        rescue.step()
    assert [record.message for record in caplog.records] == ["rescued 5 jobs whose lease had run out, 0 of them died"]


def test_leftovers_do_not_hold_up_what_ran_out_behind_them(engine: Engine, scripts: Scripts) -> None:
    """They are no rescued job, and yet a batch that is full of them is not the last one."""
    rescue = Rescue(engine, EVERY_S, 30_000, LOG)
    small(rescue)
    lost(engine, ["a"])
    engine.redis.zadd(engine.keys.leases(), {"ghost": 1, "spectre": 2})
    assert rescue.step() == PAUSE_SECONDS
    rescue.step()
    assert queued(engine) == ["a"]


def test_all_at_once_moves_everything_whatever_others_do(engine: Engine, scripts: Scripts) -> None:
    promotion, rescue = Promotion(engine, 60.0), Rescue(engine, 60.0, 30_000, LOG)
    small(promotion)
    small(rescue)
    lost(engine, ["x", "y", "z"])
    Promotion(engine, 60.0).step()
    delayed(engine, ["a", "b", "c"], -1)
    assert (promotion.drain(), rescue.drain()) == (3, 3)
    assert sorted(queued(engine)) == ["a", "b", "c", "x", "y", "z"]
    assert Slot(scripts).need().attempt == 2
