"""Named locks, the cell's epoch, and instants as RQ writes them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from jobops.engine.client import Engine
from jobops.engine.lua_source import source
from jobops.engine.scripts import Scripts
from tests.engine.helpers import dump
from tests.tools import wait_for


def test_a_lock_has_one_owner_who_alone_keeps_it_or_gives_it_back(engine: Engine, scripts: Scripts) -> None:
    assert scripts.lock("scheduler", "a", 60_000) is True
    before = dump(engine.redis)
    assert scripts.lock("scheduler", "b", 60_000) is False
    assert scripts.unlock("scheduler", "b") is False
    assert dump(engine.redis) == before
    assert scripts.lock("scheduler", "a", 60_000) is True
    assert scripts.lock("other", "b", 60_000) is True
    assert scripts.unlock("scheduler", "a") is True
    assert scripts.lock("scheduler", "b", 60_000) is True


def test_a_kept_lock_lasts_its_new_time_and_an_unkept_one_is_free(engine: Engine, scripts: Scripts) -> None:
    """LS-18: whoever dies holding it blocks nobody for longer than its time."""
    scripts.lock("l", "a", 1_000)
    scripts.lock("l", "a", 90_000)
    assert engine.redis.pttl(engine.keys.lock("l")) > 80_000
    scripts.lock("l", "a", 1)
    wait_for(lambda: scripts.lock("l", "b", 60_000), seconds=3)


def test_giving_back_what_nobody_holds_is_fine(scripts: Scripts) -> None:
    assert scripts.unlock("free", "a") is True


def test_the_epoch_stays_until_redis_is_flushed(engine: Engine, scripts: Scripts) -> None:
    first = scripts.epoch()
    assert len(first) == 32
    assert (scripts.epoch(), engine.prepare()) == (first, first)
    engine.redis.flushall()
    assert engine.prepare() != first


def test_a_redis_far_behind_the_marks_that_are_known_has_another_name(engine: Engine, scripts: Scripts) -> None:
    first = scripts.epoch()
    assert scripts.epoch_mark(0, 2) == (first, 1)
    assert scripts.epoch_mark(1, 2) == (first, 2)
    assert scripts.epoch_mark(1, 2) == (first, 3), "whoever died before it was noted: never the same mark twice"
    assert scripts.epoch_mark(5, 2) == (first, 6), "what a crash may cost"
    another, mark = scripts.epoch_mark(9, 2)
    assert (len(another), another != first, mark) == (32, True, 10)
    assert scripts.epoch_mark(10, 2) == (another, 11)
    engine.redis.flushall()
    assert scripts.epoch_mark(11, 2)[0] not in (first, another)


def test_the_clock_is_the_one_of_redis(engine: Engine, scripts: Scripts) -> None:
    seconds, micros = engine.redis.time()
    assert 0 <= scripts.now_ms() - (seconds * 1000 + micros // 1000) < 5_000


def test_instants_are_written_as_python_writes_them(engine: Engine) -> None:
    """Leap years, centuries, ends of months, and what chance brings."""
    body = source("enqueue").partition("-- RQ writes instants")[2].partition("-- Arguments")[0]
    text = "-- " + body[: body.index("\nend\n") + 5] + "\nlocal out = {}\n"
    text += "for i = 1, #ARGV do out[i] = iso(tonumber(ARGV[i])) end\nreturn out"
    days = [datetime(year, 2, 28, tzinfo=UTC) for year in range(1970, 2201)]
    instants = [
        day + timedelta(days=n, hours=23, minutes=59, seconds=59, milliseconds=999) for day in days for n in (0, 1, 2)
    ]
    instants += [
        datetime(year, month, 1, tzinfo=UTC) for year in (1970, 1999, 2000, 2026, 2100) for month in range(1, 13)
    ]
    chance = random.Random(1)
    instants += [datetime.fromtimestamp(chance.randrange(2**42) / 1000, UTC) for _ in range(500)]
    milliseconds = [round(instant.timestamp() * 1000) for instant in instants]
    answers = [answer.decode() for answer in engine.redis.eval(text, 0, *milliseconds)]
    exact = [datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000) for ms in milliseconds]
    assert answers == [instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ") for instant in exact]
