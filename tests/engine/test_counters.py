"""What is counted each minute is what happened."""

from __future__ import annotations

from jobops.engine.client import Engine
from jobops.engine.keys import average_field
from jobops.engine.queues import minute_counters, type_counters
from jobops.engine.records import Counters, Outcome
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, expire, job, make_due


def test_each_start_and_each_end_is_counted_once(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many(
        [job("ok"), job("retried"), job("poisoned"), job("discarded"), job("released"), job("lost", max_attempts=1)]
    )
    slot = Slot(scripts)
    assert slot.run() == "succeeded"
    assert slot.run(Outcome.failed("error", delay_ms=60_000)) == "retry"
    assert slot.run(Outcome.failed("poison")) == "dead"
    assert slot.run(Outcome.discarded()) == "discarded"
    assert slot.run(Outcome.released()) == "released"
    assert slot.run() == "succeeded"  # the released one
    assert slot.need().id == "lost"
    expire(engine, "lost")
    scripts.rescue()
    make_due(engine, "retried")
    scripts.promote()
    slot.run()
    counted = minute_counters(engine)["acme"]
    assert counted == Counters(
        starts=8, retries=1, succeeded=3, dead=2, discarded=1, lost=1, worker_ms=counted.worker_ms
    )
    types = type_counters(engine)["t.work"]
    assert {name: n for name, n in types.items() if not name.startswith("b")} == {
        "succeeded": 3, "retry": 1, "dead": 1, "discarded": 1, "lost": 1,
    }  # fmt: skip
    assert sum(n for name, n in types.items() if name.startswith("b")) == 6


def test_stale_and_repeated_settles_count_nothing(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    claimed = slot.need()
    slot.settle(claimed)
    before = minute_counters(engine)
    slot.seq -= 1
    slot.settle(claimed)
    slot.settle(claimed, BOOM)
    assert minute_counters(engine) == before


def test_worker_time_is_what_was_really_used(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b", tenant="beta")])
    one, two = Slot(scripts, "s1"), Slot(scripts, "s2")
    for slot, seconds in ((one, 7), (two, 1)):
        claimed = slot.need()
        engine.redis.hincrby(engine.keys.lease(claimed.id), "started", -seconds * 1_000_000)
        slot.settle(outcome=Outcome.released() if seconds == 7 else None)
    used = minute_counters(engine)
    first, second = sorted((used["acme"].worker_ms, used["beta"].worker_ms), reverse=True)
    assert 7_000 <= first < 9_000
    assert 1_000 <= second < 3_000


def test_a_tenant_pays_for_the_time_it_really_used(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    slot.need()
    engine.redis.hincrby(engine.keys.lease("a"), "started", -5_000_000)
    slot.settle()
    assert 5_000_000 <= int(engine.redis.hget(engine.keys.tenant("acme"), "vt:bulk")) < 7_000_000


def test_run_times_fall_into_their_buckets(engine: Engine, scripts: Scripts) -> None:
    for n, milliseconds in enumerate((3_000, 100_000)):
        scripts.enqueue(job(f"j{n}"))
        slot = Slot(scripts, f"s{n}")
        slot.need()
        engine.redis.hincrby(engine.keys.lease(f"j{n}"), "started", -milliseconds * 1000)
        slot.settle()
    types = type_counters(engine)["t.work"]
    assert (types["b12"], types["b17"]) == (1, 1)  # up to 4,096 ms and up to 131,072 ms


def test_tenants_and_minutes_are_kept_apart_and_expire(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b", tenant="beta")])
    slot = Slot(scripts)
    slot.run()
    slot.run()
    minute = scripts.now_ms() // 60_000
    engine.redis.hset(engine.keys.minute(minute - 3, "tenant"), "acme|starts", 10)
    engine.redis.hset(engine.keys.minute(minute - 9, "tenant"), "acme|starts", 100)
    assert minute_counters(engine)["acme"].starts == 11
    assert minute_counters(engine)["beta"].starts == 1
    assert minute_counters(engine, minutes=12)["acme"].starts == 111
    assert minute_counters(engine, minutes=10**9)["acme"].starts == 111
    own = [key for key in engine.redis.keys("jobops:minute:*") if engine.redis.ttl(key) > 0]
    assert len(own) >= 2
    assert all(engine.redis.ttl(key) <= 900 for key in own)


def test_nothing_happened_is_no_counters(engine: Engine, scripts: Scripts) -> None:
    assert (minute_counters(engine), type_counters(engine)) == ({}, {})


def test_the_average_run_time_of_a_type_follows_its_runs(engine: Engine, scripts: Scripts) -> None:
    def ran(milliseconds: int) -> float:
        scripts.enqueue(job(f"r{milliseconds}"))
        slot = Slot(scripts, f"s{milliseconds}")
        slot.need()
        engine.redis.hincrby(engine.keys.lease(f"r{milliseconds}"), "started", -milliseconds * 1000)
        slot.settle()
        return float(engine.redis.hget(engine.keys.cell(), average_field("t.work")))

    assert 1_000 <= ran(1_000) < 1_500
    assert 2_800 <= ran(10_000) < 3_400  # a fifth of the way
    scripts.enqueue(job("next"))
    Slot(scripts).need()
    assert 2_800 <= float(engine.redis.hget(engine.keys.lease("next"), "charged")) < 3_400


def test_released_runs_do_not_spoil_the_average(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    Slot(scripts).run(Outcome.released())
    assert not engine.redis.hexists(engine.keys.cell(), average_field("t.work"))
