"""Many leases run out at once: those of a queue end together, and each job is as if it ended alone."""

from __future__ import annotations

import math

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.keys import average_field, rq_queue
from jobops.engine.records import Policy, Rescued
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import Slot, expire, job, queued, running, slots, status
from tests.engine.virtual_time import VirtualScripts, virtual


def hold(engine: Engine, tenant: str, ids: list[str], **options: object) -> dict[str, Slot]:
    """So many running jobs of a tenant, whose leases ran out one after the other."""
    lane = str(options.get("lane", "bulk"))
    engine.scripts.enqueue_many([job(each, tenant, **options) for each in ids])
    held = {each: Slot(engine.scripts, f"of-{each}", [lane], worker=f"of-{each}") for each in ids}
    for n, (each, slot) in enumerate(held.items()):
        assert slot.need().id == each
        expire(engine, each, ago_ms=60_000 - n)
    return held


def test_jobs_of_several_queues_go_back_each_first_in_its_own(engine: Engine, scripts: Scripts) -> None:
    hold(engine, "acme", ["a1", "a2", "a3"])
    hold(engine, "acme", ["i1", "i2"], lane="interactive")
    hold(engine, "beta", ["b1", "b2"])
    scripts.enqueue_many([job("waits"), job("other", "beta")])
    assert scripts.rescue() == Rescued(7, 0, False)
    assert queued(engine) == ["a3", "a2", "a1", "waits"]
    assert queued(engine, "acme.interactive") == ["i2", "i1"]
    assert queued(engine, "beta.bulk") == ["b2", "b1", "other"]
    assert (running(engine), running(engine, "beta")) == (0, 0)
    invariants.check(engine)
    again = Slot(scripts, "next").need()
    view = read_job(engine, again.id)
    assert view is not None
    assert (again.attempt, len(view.history), view.history[0].outcome) == (2, 1, "worker_lost")


def test_one_batch_tells_each_fate_apart(engine: Engine, scripts: Scripts) -> None:
    """Back, dead of its last attempt, dead without its record, stopped, ended meanwhile: as each alone."""
    held = hold(engine, "acme", ["back", "gone", "stopped", "ended", "too"], max_attempts=2)
    hold(engine, "acme", ["last"], max_attempts=1, lane="interactive")
    engine.redis.delete("rq:job:gone")
    scripts.stop("stopped")
    engine.redis.hset("rq:job:ended", "status", "finished")
    engine.redis.expire("rq:job:ended", 500)
    assert scripts.rescue() == Rescued(2, 2, False)
    assert queued(engine) == ["too", "back"]
    found = [status(engine, each) for each in ("gone", "last", "stopped", "ended")]
    assert found == ["failed", "failed", "stopped", "finished"]
    assert held["back"].settle().outcome == "stale"
    assert running(engine) == 0


def test_each_lost_attempt_is_counted_once(engine: Engine) -> None:
    engine = virtual(engine)
    scripts = engine.scripts
    scripts.set_policy(Policy("acme", cap=None))
    hold(engine, "acme", [f"j{n}" for n in range(5)])
    hold(engine, "acme", ["dies"], max_attempts=1, lane="interactive")
    for each in [*(f"j{n}" for n in range(5)), "dies"]:
        engine.redis.zadd(engine.keys.leases(), {each: 1})
    assert scripts.rescue(gap_ms=10**9) == Rescued(5, 1, False)
    counted = {
        name.decode(): int(value)
        for key in engine.redis.scan_iter(f"{engine.keys.prefix}:minute:*")
        for name, value in engine.redis.hgetall(key).items()
    }
    assert (counted["acme|lost"], counted["acme|dead"], counted["t.work|lost"]) == (6, 1, 6)
    assert counted["acme|us"] == 6 * 200_000  # no time has passed; what the loss itself costs


def test_a_tenant_pays_for_all_that_it_lost(engine: Engine) -> None:
    """What was charged beforehand is given back, what was used beyond it is paid, whatever stands beside it."""
    engine = virtual(engine)
    scripts = engine.scripts
    assert isinstance(scripts, VirtualScripts)
    for slug in ("acme", "beta"):
        scripts.set_policy(Policy(slug, cap=None))
    engine.redis.hset(engine.keys.cell(), average_field("t.work"), 1000)
    vt = lambda slug: int(engine.redis.hget(engine.keys.tenant(slug), "vt:bulk") or 0) / 1000  # noqa: E731
    hold(engine, "acme", ["long", "longer"])
    scripts.set_clock(5000)
    hold(engine, "acme", ["short", "shorter"])
    scripts.enqueue(job("waits"))
    before = vt("acme")
    engine.redis.zadd(engine.keys.leases(), dict.fromkeys(("long", "longer", "short", "shorter"), 1))
    assert scripts.rescue(gap_ms=10**9).moved == 4
    assert math.isclose(vt("acme") - before, 2 * (5000 + 200 - 1000) + 2 * (0 + 200 - 1000))


def test_a_place_at_a_gate_comes_free_for_each(engine: Engine, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 2, None)
    hold(engine, "acme", ["a", "b"], resource="stripe")
    scripts.enqueue_many([job("c", "beta", resource="stripe"), job("d", "beta", resource="stripe")])
    assert Slot(scripts, "looks").claim() is None
    assert scripts.rescue() == Rescued(2, 0, False)
    assert engine.redis.zcard(engine.keys.inflight_resource("stripe")) == 0
    started = {Slot(scripts, f"s{n}").need().id for n in range(2)}
    assert len(started) == 2
    invariants.check(engine)


@pytest.mark.leaves_broken
def test_a_queue_of_another_kind_stops_no_other(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("beta", cap=2))
    hold(engine, "beta", ["b1", "b2"])
    scripts.enqueue(job("theirs", "beta", lane="interactive"))
    assert Slot(scripts, "looks").claim() is None
    hold(engine, "acme", ["a1", "a2"])
    engine.redis.set(rq_queue("beta.bulk"), "not a list")
    assert scripts.rescue() == Rescued(2, 0, False)
    assert queued(engine) == ["a2", "a1"]
    assert engine.redis.zcard(engine.keys.leases()) == 0
    assert Slot(scripts, "next", ["interactive"]).need().id == "theirs"  # the cap has room, whatever became of b1


@pytest.mark.leaves_broken
def test_a_worker_of_another_kind_stops_no_other(engine: Engine, scripts: Scripts) -> None:
    held = hold(engine, "acme", ["a1", "a2", "a3"])
    engine.redis.set(f"rq:worker:{held['a2'].worker}", "not a hash")
    assert scripts.rescue() == Rescued(3, 0, False)
    assert queued(engine) == ["a3", "a2", "a1"]


@pytest.mark.parametrize(("sleeping", "lost"), [(4, 2), (2, 4)])
def test_as_many_wake_as_there_are_jobs_for(engine: Engine, scripts: Scripts, sleeping: int, lost: int) -> None:
    hold(engine, "acme", [f"j{n}" for n in range(lost)])
    for slot in slots(scripts, sleeping):
        assert slot.claim() is None
    assert scripts.rescue().moved == lost
    assert engine.redis.llen(engine.keys.wake("bulk")) == min(sleeping, lost)


def test_more_is_told_and_who_began_goes_on_alone(engine: Engine, scripts: Scripts) -> None:
    hold(engine, "acme", [f"j{n}" for n in range(5)])
    assert scripts.rescue(2, min_interval_ms=60_000, by="one") == Rescued(2, 0, False, more=True)
    assert scripts.rescue(2, min_interval_ms=60_000, by="two") == Rescued(0, 0, False)
    assert scripts.rescue(2, min_interval_ms=60_000, by="one") == Rescued(2, 0, False, more=True)
    assert scripts.rescue(2, min_interval_ms=60_000, by="one") == Rescued(1, 0, False)


def test_what_is_given_back_of_lost_jobs_depends_on_when_each_was_charged(engine: Engine) -> None:
    """An idle slot levelled the ring between them: nothing of the first is given back, but of the second."""
    engine = virtual(engine)
    scripts = engine.scripts
    scripts.set_policy(Policy("acme", cap=None))
    engine.redis.hset(engine.keys.cell(), average_field("t.work"), 3_600_000)
    hold(engine, "acme", ["first"])
    assert Slot(scripts, "idle").claim() is None
    hold(engine, "acme", ["second"])
    before = int(engine.redis.hget(engine.keys.tenant("acme"), "vt:bulk"))
    for n, each in enumerate(("first", "second")):
        engine.redis.zadd(engine.keys.leases(), {each: n + 1})
    assert scripts.rescue(gap_ms=10**9) == Rescued(2, 0, False)
    assert int(engine.redis.hget(engine.keys.tenant("acme"), "vt:bulk")) == before - (3_600_000 - 200) * 1000


@pytest.mark.parametrize("order", [("old", "new"), ("new", "old")])
def test_lost_jobs_of_a_slugs_old_and_new_owner_are_told_apart(engine: Engine, order: tuple[str, str]) -> None:
    scripts = engine.scripts
    for owner in ("old", "new"):
        scripts.drop_policy("acme")
        scripts.set_policy(Policy("acme", cap=None, uid=owner))
        hold(engine, "acme", [owner], max_attempts=3)
    for n, each in enumerate(order):
        expire(engine, each, ago_ms=90_000 - n)
    assert scripts.rescue() == Rescued(1, 1, False)
    assert (status(engine, "old"), status(engine, "new")) == ("failed", "queued")


def test_what_is_given_back_goes_by_the_level_of_its_own_lane(engine: Engine) -> None:
    """A lane and the lanes among themselves are levelled each at its own times."""
    engine = virtual(engine)
    scripts = engine.scripts
    scripts.set_policy(Policy("acme", cap=None))
    engine.redis.hset(engine.keys.cell(), mapping={"level:bulk": 3, "lane_level": 7, average_field("t.work"): 1_000})
    slot = hold(engine, "acme", ["a"])["a"]
    assert int(engine.redis.hget(engine.keys.tenant("acme"), "vt:bulk")) == 1_000_000
    slot.settle()
    assert int(engine.redis.hget(engine.keys.tenant("acme"), "vt:bulk")) == 0
    assert int(engine.redis.hget(engine.keys.cell(), "vtime:bulk")) == 0
