"""Queues and pages of jobs as people see them, whatever stands in Redis."""

from __future__ import annotations

import pickle

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import list_jobs, read_job, read_jobs
from jobops.engine.queues import active_tenants, read_queues
from jobops.engine.records import Outcome, Policy, QueueView
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, expire, job, slots
from tests.engine.virtual_time import START_US, VirtualScripts, virtual


def row(engine: Engine, tenant: str = "acme", lane: str = "bulk") -> QueueView:
    (found,) = [view for view in read_queues(engine, [tenant]) if view.lane == lane]
    return found


def test_an_empty_queue_has_no_age(engine: Engine, scripts: Scripts) -> None:
    assert read_queues(engine) == []
    assert read_queues(engine, []) == []
    assert row(engine) == QueueView("acme", "bulk", 0, None, 0)


def test_active_tenants_are_those_with_waiting_or_running_jobs(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("later"))
    scripts.enqueue_many([job("a", tenant="beta"), job("b", tenant="later", delay_ms=50_000), job("c")])
    assert active_tenants(engine) == ["acme", "beta"]
    slot = Slot(scripts)
    while slot.need().tenant != "beta":
        slot.settle()
    scripts.cancel("c")
    assert active_tenants(engine) in (["acme", "beta"], ["beta"])
    assert "beta" in [view.tenant for view in read_queues(engine)]
    slot.settle()
    assert "beta" not in active_tenants(engine)


def test_depth_running_and_order_of_rows(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(5)] + [job("i", lane="interactive")])
    for slot in slots(scripts, 3, lanes=["bulk"]):
        slot.need()
    rows = [(view.tenant, view.lane, view.depth, view.running) for view in read_queues(engine, ["beta", "acme"])]
    assert rows == [
        ("beta", "interactive", 0, 0),
        ("beta", "bulk", 0, 0),
        ("acme", "interactive", 1, 0),
        ("acme", "bulk", 2, 3),
    ]


def aged(engine: Engine, name: str, seconds: int) -> None:
    """The job became runnable so long ago, as did the oldest of its queue if it is the first."""
    at = engine.scripts.now_ms() - seconds * 1000
    engine.redis.hset(f"rq:job:{name}", "jo_runnable", at)
    if engine.redis.lindex("rq:queue:acme.bulk", 0) == name.encode():
        engine.redis.zadd(engine.keys.active("bulk"), {"acme": at})


def test_the_age_is_that_of_the_oldest_waiting_job(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b"), job("c")])
    for name, seconds in (("a", 900), ("b", 300), ("c", 100)):
        aged(engine, name, seconds)
    ages = []
    slot = Slot(scripts)
    for _ in range(3):
        age = row(engine).oldest_age_s
        assert age is not None
        ages.append(round(age / 50) * 50)
        slot.need()
    assert ages == [900, 300, 100]
    assert row(engine).oldest_age_s is None


def test_the_age_counts_from_when_a_job_last_became_runnable(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    aged(engine, "a", 900)
    Slot(scripts, "s").need()
    expire(engine, "a")
    scripts.rescue()
    age = row(engine).oldest_age_s
    assert age is not None
    assert age < 60


def test_cancelling_the_oldest_makes_the_next_the_oldest(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    aged(engine, "a", 900)
    aged(engine, "b", 300)
    scripts.cancel("a")
    age = row(engine).oldest_age_s
    assert age is not None
    assert 290 < age < 350


def test_an_instant_in_the_future_is_an_age_of_nought(engine: Engine, scripts: Scripts) -> None:
    """MA-01: clocks differ, or Redis's was set back."""
    scripts.enqueue(job("a"))
    aged(engine, "a", -3)
    assert row(engine).oldest_age_s == 0.0
    assert Slot(scripts).run() == "succeeded"


def test_one_that_was_passed_over_leaves_its_age_to_nobody(engine: Engine) -> None:
    """What starts behind it and what waits then became runnable in one instant, and it an hour before."""
    scripts = virtual(engine).scripts
    assert isinstance(scripts, VirtualScripts)
    scripts.set_policy(Policy("acme", cap=None, uid="former"))
    scripts.enqueue(job("former"))
    scripts.set_clock(3_600_000)
    scripts.set_policy(Policy("acme", cap=None, uid="new"))
    scripts.enqueue_many([job("a"), job("b"), job("c")])
    assert Slot(scripts).need().id == "a"
    assert engine.redis.zscore(engine.keys.active("bulk"), "acme") == START_US / 1000 + 3_600_000


def test_waiting_jobs_are_paged_oldest_first(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(7)])
    pages = [[view.id for view in list_jobs(engine, "acme.bulk", offset=at, limit=3)] for at in (0, 3, 6, 9)]
    assert pages == [["j0", "j1", "j2"], ["j3", "j4", "j5"], ["j6"], []]


@pytest.mark.parametrize(
    ("offset", "limit", "count"), [(-5, 3, 3), (0, 0, 1), (0, -1, 1), (0, 10**9, 7), (10**12, 5, 0)]
)
def test_odd_pages_are_clamped(engine: Engine, scripts: Scripts, offset: int, limit: int, count: int) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(7)])
    assert len(list_jobs(engine, "acme.bulk", offset=offset, limit=limit)) == count


def test_each_state_has_its_list(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("done"), job("dropped"), job("died"), job("runs"), job("waits"), job("cancelled")])
    slot = Slot(scripts)
    slot.run()
    slot.run(Outcome.discarded())
    slot.run(Outcome.failed("poison"))
    slot.need()
    scripts.cancel("cancelled")
    found = {
        state: {view.id: view.state for view in list_jobs(engine, "acme.bulk", state=state)}
        for state in ("queued", "started", "finished", "failed", "cancelled")
    }
    assert found == {
        "queued": {"waits": "queued"},
        "started": {"runs": "started"},
        "finished": {"done": "succeeded", "dropped": "discarded"},
        "failed": {"died": "dead"},
        "cancelled": {"cancelled": "cancelled"},
    }


def test_ended_jobs_are_listed_the_latest_first(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a", result_ttl_s=100), job("b", result_ttl_s=300), job("c", result_ttl_s=200)])
    slot = Slot(scripts)
    for _ in range(3):
        slot.run()
    assert [view.id for view in list_jobs(engine, "acme.bulk", state="finished")] == ["b", "c", "a"]
    assert [view.id for view in list_jobs(engine, "acme.bulk", state="finished", offset=1, limit=1)] == ["c"]


def test_ids_without_a_job_are_left_out(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    engine.redis.delete("rq:job:a")
    assert [view.id for view in list_jobs(engine, "acme.bulk")] == ["b"]
    assert [view.id for view in read_jobs(engine, ["missing", "b"])] == ["b"]
    assert read_job(engine, "missing") is None
    assert read_jobs(engine, []) == []
    assert Slot(scripts).need().id == "b"


class Bomb:
    """What a pickled payload would run."""

    def __reduce__(self) -> tuple[object, ...]:
        return (pytest.fail, ("a payload was unpickled",))


@pytest.mark.leaves_broken
def test_nothing_that_is_read_is_ever_unpickled(engine: Engine, scripts: Scripts) -> None:
    """I10, PX-07: pages depend on no job's content."""
    data = pickle.dumps(Bomb())
    engine.redis.hset("rq:job:x", mapping={"status": "queued", "origin": "acme.bulk", "data": data, "meta": data})
    engine.redis.rpush("rq:queue:acme.bulk", "x", b"\xff\xfe")
    (view,) = list_jobs(engine, "acme.bulk")
    assert (view.id, view.data, view.tenant, view.lane, view.job_type) == ("x", data, "acme", "bulk", "")
    scripts.reconcile("acme.bulk")
    claimed = Slot(scripts).need()
    assert claimed.data == data
    assert read_queues(engine)[1].running == 1


def test_a_view_of_a_job_tells_its_times(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", delay_ms=50_000, correlation_id="c1", key="k1"))
    view = read_job(engine, "a")
    assert view is not None
    assert view.created_at is not None
    assert view.due_at is not None
    assert abs((view.due_at - view.created_at).total_seconds() - 50) < 0.01
    assert (view.started_at, view.ended_at, view.correlation_id, view.key) == (None, None, "c1", "k1")
    assert str(view.created_at.tzinfo) == "UTC"


def test_the_error_of_a_retried_job_is_gone_when_it_succeeds(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    slot.run(BOOM)
    scripts.promote()
    slot.run()
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, view.error, view.error_class, view.traceback) == ("succeeded", "", "", "")
    assert view.history[0].error == "boom"
