"""Minutes: windows and charts from the engine's counters."""

from __future__ import annotations

from jobops.engine.client import Engine
from jobops.engine.records import Counters
from jobops.metrics.minutes import KEPT, MinuteReader, parse

NOW = 30_000_000 * 60_000 + 15_000  # a quarter into a minute


def count(engine: Engine, back: int, **fields: int) -> None:
    engine.redis.hset(
        engine.keys.minute(NOW // 60_000 - back, "tenant"), mapping={f"acme|{k}": v for k, v in fields.items()}
    )


def test_a_window_is_as_long_as_it_says_so_that_counts_and_rates_agree(engine: Engine) -> None:
    count(engine, 0, starts=1, us=2_000)
    count(engine, 5, starts=10, retries=3, succeeded=7, us=5_000_000)
    count(engine, 6, starts=100)
    history = MinuteReader().read(engine, "e", NOW)
    # A quarter of the running minute is over: three quarters of the one five minutes ago lie within.
    assert history.window(5) == {"acme": Counters(starts=9, retries=2, succeeded=5, worker_ms=3752)}
    assert history.window_s(5) == 300.0
    short = MinuteReader().read(engine, "e", NOW, minutes=2)
    assert short.window(5) == {"acme": Counters(starts=1, worker_ms=2)}
    assert short.window_s(5) == 135.0
    assert len(history.closed("acme")) == KEPT
    assert history.closed("acme")[-5].succeeded == 7
    assert history.closed()[-6].starts == 100
    assert history.closed("nobody")[-1] == Counters()


def test_a_minute_that_is_over_is_read_once_and_the_running_one_always(engine: Engine) -> None:
    reader = MinuteReader()
    count(engine, 0, starts=1)
    count(engine, 3, starts=5)
    reader.read(engine, "e", NOW)
    count(engine, 0, starts=2)
    count(engine, 3, starts=999)
    assert reader.read(engine, "e", NOW).window(5)["acme"].starts == 7
    assert reader.read(engine, "another life of Redis", NOW).window(5)["acme"].starts == 1001


def test_what_is_kept_does_not_grow_with_time(engine: Engine) -> None:
    reader = MinuteReader()
    for minute in range(40):
        reader.read(engine, "e", NOW + minute * 60_000)
    assert len(reader._over) <= KEPT


def test_fields_that_are_not_ours_are_passed_over() -> None:
    """PX-07: what stands in Redis never breaks a page."""
    assert parse(
        {
            b"acme|starts": b"3",
            b"acme|what": b"9",
            b"acme": b"1",
            b"|starts": b"1",
            b"acme|dead": b"x",
            b"\xff|dead": b"-2",
        }
    ) == {
        "acme": Counters(starts=3),
        "\ufffd": Counters(),
    }
