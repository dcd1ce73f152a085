"""A resource that jobs share: so many at once, whoever's they are. Who waits for it is in nobody's way."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.errors import InvalidJob
from jobops.engine.gates import GateView, read_gates, type_gate
from jobops.engine.jobs import list_jobs, read_job
from jobops.engine.queues import active_tenants, read_queues
from jobops.engine.rates import Rate
from jobops.engine.records import Policy
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import BOOM, Slot, job, make_due, queued, slots, status


def gate(engine: Engine, name: str = "stripe") -> GateView:
    (view,) = read_gates(engine, [name])
    return view


def test_no_more_jobs_run_at_once_than_the_resource_lets_through_and_all_others_wait(
    engine: Engine, scripts: Scripts
) -> None:
    """CC-06: one runs, three wait, and every one of them is listed."""
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue_many([job(f"j{n}", resource="stripe") for n in range(4)])
    ten = slots(scripts, 10)
    ran = []
    for _ in range(4):
        running = [slot for slot in ten if slot.held or slot.claim()]
        assert len(running) == gate(engine).inflight == 1
        invariants.check(engine)
        waits = [view.id for view in list_jobs(engine, "acme.bulk", state="waiting")]
        assert waits == [f"j{n}" for n in range(len(ran) + 1, 4)]
        ran.append(running[0].held.id)  # type: ignore[union-attr]
        running[0].settle()
    assert ran == ["j0", "j1", "j2", "j3"]
    assert read_gates(engine) == [GateView("stripe", 1, None, 0, 0, None, 0, "", False, True)]


def test_who_waits_is_in_the_way_of_no_other_job(engine: Engine, scripts: Scripts) -> None:
    """CC-04 for resources: behind 200 that wait, the tenant's other jobs and other tenants' start at once."""
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue_many([job(f"j{n}", resource="stripe") for n in range(200)])
    scripts.enqueue_many([job("own"), job("other", "beta")])
    assert [slot.need().id for slot in slots(scripts, 3)] == ["j0", "other", "own"]
    assert gate(engine).waiting == 199


def test_a_job_that_waits_counts_as_depth_and_for_the_age_of_the_backlog(engine: Engine, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 0, None)
    scripts.enqueue_many([job("a", resource="stripe"), job("b", resource="stripe")])
    since = int(engine.redis.hget("rq:job:a", "jo_runnable"))
    assert Slot(scripts).claim() is None
    (bulk,) = (row for row in read_queues(engine) if row.lane == "bulk")
    assert (bulk.tenant, bulk.depth, bulk.waiting, bulk.running) == ("acme", 2, 2, 0)
    assert engine.redis.zscore(engine.keys.active("bulk"), "acme") == since
    assert active_tenants(engine) == ["acme"]
    assert engine.redis.exists(engine.keys.ring("bulk")) == 0, "nothing of it can start: it is in nobody's way"
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, status(engine, "a")) == ("waiting", "rate_limited")
    scripts.enqueue(job("plain"))
    assert engine.redis.zscore(engine.keys.active("bulk"), "acme") == since


def test_a_job_pushed_to_the_front_is_the_first_to_wait(scripts: Scripts) -> None:
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue_many([job(name, resource="stripe") for name in ("a", "b", "c")])
    slot = Slot(scripts)
    slot.need()
    assert Slot(scripts, "other").claim() is None
    scripts.enqueue(job("urgent", resource="stripe", front=True))
    assert Slot(scripts, "other").claim() is None
    order = []
    for _ in range(3):
        slot.settle(claim=True)
        order.append(slot.held.id)  # type: ignore[union-attr]
    assert order == ["urgent", "b", "c"]


def test_a_newer_job_of_the_queue_does_not_overtake_an_older_one_that_waits(scripts: Scripts, engine: Engine) -> None:
    """The room is offered to another tenant, and the newer job comes to the open gate first: it changes places."""
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue_many([job(name, resource="stripe") for name in ("a", "b", "c")])
    slot = Slot(scripts)
    slot.need()
    scripts.enqueue(job("other", "beta", resource="stripe"))
    assert Slot(scripts, "filler").claim() is None
    slot.settle(claim=True)
    slot.settle()
    assert (queued(engine, "beta.bulk"), status(engine, "c")) == (["other"], "rate_limited")
    scripts.enqueue(job("new", resource="stripe"))
    engine.redis.zadd(engine.keys.ring("bulk"), {"acme": -1.0})  # acme's turn in the ring comes before beta's
    engine.redis.hset(engine.keys.tenant("acme"), "vt:bulk", -1)
    assert slot.need().id == "c"
    assert status(engine, "new") == "rate_limited"


def test_what_a_job_needs_counts_from_the_start_also_while_it_has_no_limit(engine: Engine, scripts: Scripts) -> None:
    """A later limit counts who runs, and after a lowering in flight only falls (I2)."""
    scripts.set_limit("stripe", None, None)
    scripts.enqueue_many([job(f"j{n}", resource="stripe") for n in range(6)])
    three = slots(scripts, 3)
    for slot in three:
        slot.need()
    assert gate(engine).inflight == 3
    scripts.set_limit("stripe", 1, None)
    for left in (2, 1):
        three.pop().settle()
        assert Slot(scripts, "more").claim() is None
        assert gate(engine).inflight == left
    three.pop().settle()
    assert Slot(scripts, "more").need().id == "j3"


def test_a_raised_limit_lets_as_many_more_start(engine: Engine, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue_many([job(f"j{n}", resource="stripe") for n in range(6)])
    five = slots(scripts, 5)
    assert [slot.claim() is not None for slot in five] == [True, False, False, False, False]
    scripts.set_limit("stripe", 4, None)
    assert [slot.claim().id for slot in five[1:4]] == ["j1", "j2", "j3"]  # type: ignore[union-attr]
    assert five[4].claim() is None


def test_a_resource_whose_limits_nobody_knows_lets_nobody_through_until_somebody_sets_them(
    engine: Engine, scripts: Scripts
) -> None:
    """As after a loss of Redis: neither without any limit, nor waiting for ever."""
    scripts.enqueue_many([job("a", resource="stripe"), job("b", resource="stripe")])
    slot = Slot(scripts)
    assert slot.claim() is None
    assert (gate(engine).known, gate(engine).waiting) == (False, 2)
    due = engine.redis.zscore(engine.keys.parked(), "resource:stripe")
    assert 0 < due - scripts.now_ms() <= 1000
    scripts.pause_gate("stripe")
    scripts.resume_gate("stripe")
    assert slot.claim() is None, "a pause does not make it known"
    scripts.set_limit("stripe", None, None)
    assert [slot.need().id, Slot(scripts, "other").need().id] == ["a", "b"]
    assert scripts.drop_limit("stripe")
    assert not scripts.drop_limit("stripe")
    scripts.enqueue(job("c", resource="stripe"))
    assert Slot(scripts, "third").claim() is None


def test_a_job_passes_the_gate_of_its_type_and_that_of_its_resource(engine: Engine, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 2, None)
    scripts.set_limit(type_gate("t.work"), 1, None)
    scripts.enqueue_many([job("a", resource="stripe"), job("b", resource="stripe")])
    scripts.enqueue_many([job("c", job_type="t.other", resource="stripe"), job("d", job_type="t.other")])
    assert [slot.claim() and slot.held.id for slot in slots(scripts, 4)] == ["a", "c", "d", None]  # type: ignore[union-attr]
    assert [(view.name, view.inflight, view.waiting) for view in read_gates(engine)] == [
        ("stripe", 2, 0),
        ("type:t.work", 1, 1),
    ]


def test_retries_and_delayed_jobs_pass_the_gate_like_any(engine: Engine, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue_many([job("a", resource="stripe"), job("late", resource="stripe", delay_ms=60_000)])
    slot = Slot(scripts)
    assert slot.run(BOOM) == "retry"
    scripts.enqueue(job("holder", resource="stripe"))
    slot.need()
    for name in ("a", "late"):
        make_due(engine, name)
    assert scripts.promote().moved == 2
    assert Slot(scripts, "other").claim() is None
    assert sorted(view.id for view in list_jobs(engine, "acme.bulk", state="waiting")) == ["a", "late"]
    slot.settle()
    assert len(queued(engine)) == 1


@pytest.mark.parametrize("wrong", ["", "Stripe", "a b", "type:", "type:a:b", "-x", "x" * 51, None, 7])
def test_a_gate_of_an_impossible_name_is_refused(scripts: Scripts, wrong: str) -> None:
    for call in (scripts.drop_limit, scripts.pause_gate, scripts.resume_gate, scripts.release_gate):
        with pytest.raises(InvalidJob, match=r"^gate: .* must be a resource"):
            call(wrong)
    with pytest.raises(InvalidJob, match=r"^concurrency: .* must be a whole number"):
        scripts.set_limit("stripe", -1, Rate(1, 1000))


def test_limits_are_read_as_they_were_set(engine: Engine, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 8, Rate(50, 1000))
    scripts.set_limit("type:t.work", None, None)
    assert read_gates(engine) == [
        GateView("stripe", 8, Rate(50, 1000), 0, 0, 50.0, 0, "", False, True),
        GateView("type:t.work", None, None, 0, 0, None, 0, "", False, True),
    ]
    assert read_gates(engine, ["never"]) == [GateView("never", None, None, 0, 0, None, 0, "", False, False)]
    assert scripts.set_policy(Policy("acme", version=2))
