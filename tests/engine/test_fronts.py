"""What is pushed to the front of a queue: it starts first, and does not hide how old the rest is."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.queues import read_queues
from jobops.engine.records import Outcome, Policy
from tests.engine.helpers import Slot, job
from tests.engine.virtual_time import VirtualScripts, virtual


@pytest.fixture
def timed(engine: Engine) -> tuple[Engine, VirtualScripts]:
    engine = virtual(engine)
    engine.scripts.set_policy(Policy("acme", cap=None))
    assert isinstance(engine.scripts, VirtualScripts)
    return engine, engine.scripts


def oldest(engine: Engine) -> float | None:
    return engine.redis.zscore(engine.keys.active("bulk"), "acme")


def test_a_job_that_comes_back_to_the_front_does_not_make_the_backlog_look_young(
    timed: tuple[Engine, VirtualScripts],
) -> None:
    engine, scripts = timed
    scripts.enqueue_many([job("a"), job("b"), job("c")])
    born = oldest(engine)
    scripts.set_clock(60_000)
    slot = Slot(scripts)
    for _ in range(3):  # released again and again, at the head each time
        slot.settle(slot.need(), Outcome.released())
        assert oldest(engine) == born
    assert slot.need().id == "a"
    assert oldest(engine) == born  # b has waited since then
    slot.settle()
    assert slot.need().id == "b"


def test_of_many_at_the_front_the_age_is_still_that_of_the_oldest(timed: tuple[Engine, VirtualScripts]) -> None:
    engine, scripts = timed
    scripts.enqueue(job("old"))
    born = oldest(engine)
    scripts.set_clock(5_000)
    scripts.enqueue_many([job(f"urgent{n}", front=True) for n in range(10)])
    slot = Slot(scripts)
    for n in range(9, -1, -1):
        assert slot.need().id == f"urgent{n}"
        assert oldest(engine) == born
        slot.settle()
    assert slot.need().id == "old"
    assert oldest(engine) is None
    assert [row.oldest_age_s for row in read_queues(engine, ["acme"])] == [None, None]


def test_a_delayed_job_with_priority_comes_to_the_front_when_it_is_due_and_its_retry_to_the_end(
    timed: tuple[Engine, VirtualScripts],
) -> None:
    _engine, scripts = timed
    scripts.enqueue(job("later", delay_ms=1_000, front=True))
    scripts.enqueue_many([job("a"), job("b")])
    scripts.set_clock(2_000)
    assert scripts.promote().moved == 1
    slot = Slot(scripts)
    assert slot.need().id == "later"
    slot.settle(outcome=Outcome.failed("error", "E", "boom", delay_ms=10))
    scripts.set_clock(3_000)
    assert scripts.promote().moved == 1
    assert [slot.need().id for _ in range(3)] == ["a", "b", "later"]
