"""Mend: a job's id stands where its status says and nowhere else; what is right, or moved on, is left alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rq import Queue
from rq.serializers import JSONSerializer

from jobops.engine.client import Engine
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import Slot, dump, job, queued, running, status

NAMES = ["done", "off", "died", "runs", "waits", "later", "last"]


@pytest.fixture
def busy(engine: Engine, scripts: Scripts) -> Engine:
    """A job in each state, and one more that waits."""
    scripts.enqueue_many([job(name, delay_ms=90_000 if name == "later" else 0) for name in NAMES])
    scripts.cancel("off")
    slot = Slot(scripts)
    slot.run()
    slot.run(Outcome.failed("poison"))
    slot.need()
    return engine


@pytest.mark.parametrize("name", [*NAMES, "never"])
@pytest.mark.parametrize("has_letter", [True, False])
def test_what_is_right_is_left_as_it_is(busy: Engine, name: str, has_letter: bool) -> None:
    before = dump(busy.redis)
    assert busy.scripts.mend(name, has_letter, ["beta.bulk", "acme.bulk"]) == ""
    assert dump(busy.redis) == before


OWN, OTHER = "rq:queue:acme.bulk", "rq:queue:beta.bulk"
Break = Callable[[Engine], object]
BREAKS: dict[str, tuple[str, Break, str]] = {
    "in no list": ("waits", lambda e: e.redis.lrem(OWN, 0, "waits"), "put back into its queue"),
    "the only one, in no list": (
        "waits",
        lambda e: (e.scripts.cancel("last"), e.redis.delete(OWN), e.redis.srem("rq:queues", OWN)),
        "put back into its queue",
    ),
    "twice in its queue": ("waits", lambda e: e.redis.rpush(OWN, "waits"), "taken out of 1 more places in its queue"),
    "in another's queue": ("waits", lambda e: e.redis.rpush(OTHER, "waits"), "taken out of the queue beta.bulk"),
    "waiting and delayed": ("waits", lambda e: e.redis.zadd(RQ_SCHEDULED, {"waits": 1}), "out of the delayed jobs"),
    "waiting and in flight": (
        "waits",
        lambda e: e.redis.zadd(e.keys.inflight("acme"), {"waits": 1}),
        "its leftover lease dropped",
    ),
    "waiting and in the index of leases": (
        "waits",
        lambda e: e.redis.zadd(e.keys.leases(), {"waits": 1}),
        "its leftover lease dropped",
    ),
    "delayed nowhere": ("later", lambda e: e.redis.delete(RQ_SCHEDULED), "put back among the delayed jobs"),
    "delayed and waiting": ("later", lambda e: e.redis.rpush(OWN, "later"), "taken out of its queue"),
    "running and waiting": ("runs", lambda e: e.redis.lpush(OWN, "runs"), "taken out of its queue"),
    "running and delayed": ("runs", lambda e: e.redis.zadd(RQ_SCHEDULED, {"runs": 1}), "out of the delayed jobs"),
    "running, not in flight": ("runs", lambda e: e.redis.delete(e.keys.inflight("acme")), "counted in flight again"),
    "running, not registered": ("runs", lambda e: e.redis.delete("rq:wip:acme.bulk"), "counted in flight again"),
    "running, not busy": ("runs", lambda e: e.redis.delete(e.keys.busy()), "counted in flight again"),
    "finished and waiting": ("done", lambda e: e.redis.rpush(OWN, "done"), "taken out of its queue"),
    "finished and delayed": ("done", lambda e: e.redis.zadd(RQ_SCHEDULED, {"done": 1}), "out of the delayed jobs"),
    "cancelled and waiting": ("off", lambda e: e.redis.lpush(OWN, "off"), "taken out of its queue"),
    "dead and waiting": ("died", lambda e: e.redis.rpush(OWN, "died"), "taken out of its queue"),
    "dead and forgotten": ("died", lambda e: e.redis.delete(e.keys.dead()), "put back into the dead intake"),
    "dead, forgotten and vanishing": (
        "died",
        lambda e: (e.scripts.dead_ack(["died:1"]), e.redis.expire("rq:job:died", 60)),
        "put back into the dead intake",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_is_wrong_is_put_right_once(busy: Engine, name: str) -> None:
    job_id, damage, words = BREAKS[name]
    damage(busy)
    if name != "dead, forgotten and vanishing":
        assert invariants.violations(busy)
    assert words in busy.scripts.mend(job_id, False, ["beta.bulk"])
    invariants.check(busy)
    before = dump(busy.redis)
    assert busy.scripts.mend(job_id, False, ["beta.bulk"]) == ""
    assert dump(busy.redis) == before


HALVES: list[Break] = [
    lambda e: e.redis.delete(e.keys.lease("runs")),
    lambda e: e.redis.zrem(e.keys.leases(), "runs"),
    lambda e: e.redis.hdel(e.keys.lease("runs"), "token"),
    lambda e: (e.redis.delete(e.keys.lease("runs")), e.redis.zrem(e.keys.leases(), "runs")),
    lambda e: e.redis.delete(e.keys.lease("runs"), e.keys.leases(), e.keys.inflight("acme"), "rq:wip:acme.bulk"),
]


@pytest.mark.parametrize("half", HALVES, ids=range(len(HALVES)))
@pytest.mark.parametrize("spent", [False, True])
def test_a_running_job_without_a_whole_lease_has_lost_its_attempt(busy: Engine, half: Break, spent: bool) -> None:
    if spent:
        busy.redis.hset("rq:job:runs", "jo_max_attempts", 1)
    half(busy)
    busy.redis.rpush(OWN, "runs")
    done = busy.scripts.mend("runs", False)
    assert "taken out of its queue" in done
    assert f"its attempt without a lease ended: {'dead' if spent else 'retry'}" in done
    assert (status(busy, "runs"), running(busy)) == ("failed" if spent else "queued", 0)
    invariants.check(busy)
    assert busy.scripts.mend("runs", False) == ""


def test_a_job_put_back_keeps_its_age_and_runs_before_what_came_later(busy: Engine) -> None:
    runnable = busy.scripts.now_ms() - 600_000
    busy.redis.hset("rq:job:waits", "jo_runnable", runnable)
    busy.redis.lrem(OWN, 0, "waits")
    busy.scripts.mend("waits", False)
    assert queued(busy) == ["waits", "last"]
    assert busy.redis.zscore(busy.keys.active("bulk"), "acme") == runnable
    assert Slot(busy.scripts, "s2").need().id == "waits"


def test_a_job_put_back_wakes_a_sleeper(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    engine.redis.delete(OWN)
    scripts.reconcile("acme.bulk")
    assert Slot(scripts, "sleeper").claim() is None
    scripts.mend("a", False)
    assert scripts.wait_for_wake(["bulk"], 10)


def test_a_job_put_back_among_the_delayed_comes_due_when_it_said(busy: Engine) -> None:
    due = busy.redis.zscore(RQ_SCHEDULED, "later")
    busy.redis.delete(RQ_SCHEDULED)
    busy.scripts.mend("later", False)
    assert busy.redis.zscore(RQ_SCHEDULED, "later") == due
    busy.redis.delete(RQ_SCHEDULED)
    busy.redis.hset("rq:job:later", "jo_due", "soon")
    busy.scripts.mend("later", False)
    assert busy.scripts.promote().moved == 1, "one that does not say is due now"


def test_a_death_that_is_in_the_database_stays_out_of_the_intake(busy: Engine) -> None:
    busy.scripts.dead_ack(["died:1"])
    before = dump(busy.redis)
    assert busy.scripts.mend("died", True) == ""
    assert dump(busy.redis) == before
    assert busy.scripts.mend("died", False) == "put back into the dead intake"
    (death,) = busy.scripts.dead_batch()
    assert (death.member, death.fields[b"jo_type"]) == ("died:1", b"t.work")
    assert busy.redis.ttl("rq:job:died") == -1


def test_everything_wrong_at_once_is_put_right_in_one_step(busy: Engine) -> None:
    busy.redis.rpush(OWN, "waits", "waits")
    busy.redis.rpush(OTHER, "waits")
    busy.redis.zadd(RQ_SCHEDULED, {"waits": 1})
    busy.redis.zadd(busy.keys.leases(), {"waits": 1})
    busy.redis.hset(busy.keys.lease("waits"), "token", "half")
    busy.redis.zadd("rq:wip:acme.bulk", {"waits:half": float("inf")})
    assert busy.scripts.mend("waits", False, ["beta.bulk"]).count(",") == 3
    assert queued(busy) == ["waits", "last"]


def test_what_moved_on_since_it_was_seen_is_left_alone(busy: Engine) -> None:
    """A finding is old by the time somebody acts on it: it ran, and waits again as its next attempt."""
    slot = Slot(busy.scripts, "s2")
    assert slot.need().id == "waits"
    assert busy.scripts.mend("waits", False) == ""
    assert slot.settle(outcome=Outcome.released()).outcome == "released"
    assert busy.scripts.mend("waits", False) == ""
    assert slot.run() == "succeeded"
    assert busy.scripts.mend("waits", False) == ""


def test_outsiders_jobs_and_queues_are_left_alone(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    Queue("default", connection=engine.redis, serializer=JSONSerializer).enqueue("os.getcwd", job_id="foreign")
    engine.redis.rpush("rq:queue:default", "a")
    engine.redis.set("rq:job:text", "a string")
    before = dump(engine.redis)
    for name in ("foreign", "text", "a"):
        assert scripts.mend(name, False, ["default", "acme.bulk"]) == ""
    assert dump(engine.redis) == before
    engine.redis.delete("rq:queue:default", "rq:job:text", "rq:job:foreign")
    engine.redis.srem("rq:queues", "rq:queue:default")


def test_a_job_of_a_paused_tenant_is_put_back_and_does_not_start(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", cap=None, paused=True, version=1))
    scripts.enqueue(job("a"))
    engine.redis.delete(OWN)
    assert scripts.mend("a", False) == "put back into its queue"
    assert Slot(scripts).claim() is None
