"""A Redis that is full: what ends or keeps running work, and what asks for work, is not refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.engine.scripts import Scripts
from tests.engine.helpers import Slot, job


@pytest.fixture
def slot(engine: Engine, scripts: Scripts) -> Iterator[Slot]:
    """A slot with a job, in a Redis that has no memory left."""
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    slot.need()
    Slot(scripts, "warm").claim()  # all commands are loaded
    before = engine.redis.config_get("maxmemory")["maxmemory"]
    engine.redis.config_set("maxmemory", 1)
    yield slot
    engine.redis.config_set("maxmemory", before)


def test_a_slot_that_finds_nothing_registers_as_waiting(engine: Engine, scripts: Scripts, slot: Slot) -> None:
    assert Slot(scripts, "other").claim() is None
    assert engine.redis.zscore(engine.keys.idle("bulk"), "other") is not None


def test_a_lease_is_renewed_and_ended(scripts: Scripts, slot: Slot) -> None:
    assert slot.held is not None
    assert scripts.renew([(slot.held.id, slot.held.token)]) == [True]
    assert slot.settle(claim=True).outcome == "succeeded"


def test_what_is_stale_is_told_so(scripts: Scripts, slot: Slot) -> None:
    held = slot.held
    assert held is not None
    assert slot.settle().outcome == "succeeded"
    assert slot.settle(held).outcome == "stale"


def test_a_leftover_of_another_token_is_told_so(engine: Engine, scripts: Scripts, slot: Slot) -> None:
    held = slot.held
    assert held is not None
    settled = scripts.settle("late", 1, held.id, "another", Outcome.succeeded())
    assert settled.outcome == "stale"
