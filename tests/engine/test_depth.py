"""The depth limit: what counts, and when there may be room."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.queues import minute_counters
from jobops.engine.records import Enqueued
from jobops.engine.scripts import Scripts
from tests.engine.full_tenants import at_a_gate, limit, refused
from tests.engine.helpers import Slot, job


def count_starts(engine: Engine, *starts: int, slug: str = "acme") -> None:
    """So many starts in this minute, the one before, …"""
    minute = engine.scripts.now_ms() // 60_000
    for ago, count in enumerate(starts):
        engine.redis.hset(engine.keys.minute(minute - ago, "tenant"), f"{slug}|starts", count)


def test_jobs_at_a_gate_are_depth_in_all_lanes(engine: Engine, scripts: Scripts) -> None:
    limit(scripts, 3)
    scripts.enqueue_many([job("a", resource="stripe"), job("c", lane="interactive", resource="stripe"), job("b")])
    at_a_gate(engine, "a", "c")
    assert refused(scripts).depth == 3
    scripts.cancel("c")
    assert scripts.enqueue(job("d")).state == "queued"


def test_a_job_at_a_gate_is_alive(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("first", key="k", resource="stripe"))
    at_a_gate(engine, "first")
    assert scripts.enqueue(job("second", key="k")) == Enqueued("first", "coalesced")


def test_a_limit_below_what_waits_counts_all_of_it(scripts: Scripts) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(5)])
    limit(scripts, 2)
    error = refused(scripts)
    assert (error.depth, error.limit) == (5, 2)


def test_a_key_that_lives_coalesces_at_the_limit_too(scripts: Scripts) -> None:
    limit(scripts, 1)
    scripts.enqueue(job("first", key="k"))
    assert scripts.enqueue(job("second", key="k")) == Enqueued("first", "coalesced")


def test_when_nothing_started_lately_the_hint_is_a_minute(engine: Engine, scripts: Scripts) -> None:
    limit(scripts, 0)
    count_starts(engine, 100, slug="beta")
    count_starts(engine, 0, 0, 0, 100)
    error = refused(scripts)
    assert error.retry_after_s == 60
    assert "try again in about 60 s, or raise the limit" in str(error)


@pytest.mark.parametrize("ago", [0, 1, 2])
def test_the_hint_is_by_the_starts_of_this_minute_and_the_two_before(
    engine: Engine, scripts: Scripts, ago: int
) -> None:
    """Ten starts in two to three minutes: one in 12 to 18 seconds."""
    limit(scripts, 1)
    scripts.enqueue(job("a"))
    minute = scripts.now_ms() // 60_000
    engine.redis.hset(engine.keys.minute(minute - ago, "tenant"), "acme|starts", 10)
    assert 12 <= refused(scripts).retry_after_s <= 18


def test_the_hint_counts_how_many_must_start_first(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(5)])
    limit(scripts, 2)
    count_starts(engine, 5, 5, 5)
    assert 4 * 8 <= refused(scripts).retry_after_s <= 4 * 12


@pytest.mark.parametrize(("starts", "hint"), [(100_000, 1), (1, 300)])
def test_the_hint_is_bounded(engine: Engine, scripts: Scripts, starts: int, hint: int) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(9)])
    limit(scripts, 1)
    count_starts(engine, starts)
    assert refused(scripts).retry_after_s == hint


def test_starts_are_what_the_hint_is_made_of(engine: Engine, scripts: Scripts) -> None:
    """The counter that is read is the one that claims write."""
    scripts.enqueue_many([job(f"j{n}") for n in range(5)])
    slot = Slot(scripts)
    for _ in range(4):
        slot.run()
    assert minute_counters(engine)["acme"].starts == 4
    limit(scripts, 1)
    assert 30 <= refused(scripts).retry_after_s <= 45


@pytest.mark.parametrize(
    ("pause", "what", "advice"),
    [
        ((), "all", "everything is paused, so nobody knows when there is room; resume it with `manage.py resume"),
        (("acme",), "tenant", "it is paused, so nobody knows when there is room; resume it with `manage.py tenants"),
    ],
)
def test_while_it_is_paused_nobody_knows_when_there_is_room(
    engine: Engine, scripts: Scripts, pause: tuple[str, ...], what: str, advice: str
) -> None:
    limit(scripts, 1)
    scripts.enqueue(job("a"))
    count_starts(engine, 100)
    scripts.pause(*pause)
    error = refused(scripts)
    assert (error.retry_after_s, error.paused) == (None, what)
    assert f"its depth limit is 1; {advice}" in str(error)
    assert "try again" not in str(error)
    scripts.resume(*pause)
    error = refused(scripts)
    assert (error.retry_after_s, error.paused) == (2, "")
