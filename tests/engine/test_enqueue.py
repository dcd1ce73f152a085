"""Enqueue: each of its answers, and what is kept of a job."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from jobops.engine.client import Engine
from jobops.engine.errors import DepthExceeded, EnqueueRefused, IntakeClosed, InvalidJob, NotTaken, UnknownTenant
from jobops.engine.jobs import read_job
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.records import Enqueued, Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import DATA, Slot, dump, job, make_due, queued, status


def test_a_job_waits_in_its_tenants_queue(engine: Engine, scripts: Scripts) -> None:
    assert scripts.enqueue(job("a")) == Enqueued("a", "queued")
    assert queued(engine) == ["a"]
    assert status(engine, "a") == "queued"


def test_jobs_wait_in_the_order_they_came_and_front_goes_first(engine: Engine, scripts: Scripts) -> None:
    for name in ("a", "b"):
        scripts.enqueue(job(name))
    scripts.enqueue(job("urgent", front=True))
    assert queued(engine) == ["urgent", "a", "b"]
    slot = Slot(scripts)
    assert [slot.need().id for _ in range(3)] == ["urgent", "a", "b"]


def test_what_was_enqueued_is_what_is_claimed(scripts: Scripts) -> None:
    new = job(
        "a", data=b"\x00\xff bytes", max_attempts=7, timeout_ms=1234, lease_ms=4321, key="k", correlation_id="c",
        result_ttl_s=9,
    )  # fmt: skip
    before = scripts.now_ms()
    scripts.enqueue(new)
    got = Slot(scripts).need()
    assert (got.id, got.tenant, got.lane, got.queue, got.job_type) == ("a", "acme", "bulk", "acme.bulk", "t.work")
    assert (got.data, got.max_attempts, got.timeout_ms, got.lease_ms) == (b"\x00\xff bytes", 7, 1234, 4321)
    assert (got.key, got.correlation_id, got.attempt, got.releases) == ("k", "c", 1, 0)
    assert before <= got.enqueued_at_ms <= scripts.now_ms()


def test_the_whole_record_is_what_rqs_tools_and_the_engine_read(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", cap=None, uid="7"))
    before = scripts.now_ms()
    scripts.enqueue(
        job(
            "a", max_attempts=7, timeout_ms=1234, lease_ms=4321, key="k", correlation_id="c", result_ttl_s=9,
            front=True, replay_of="dead:1", resource="stripe", dedup_ms=5, keep=3, batch="B", checkpoint=b"{}",
            delay_ms=60_000,
        )
    )  # fmt: skip
    record = {name.decode(): value for name, value in engine.redis.hgetall("rq:job:a").items()}
    at, due = record.pop("jo_enqueued"), record.pop("jo_due")
    assert record.pop("jo_runnable") == due  # runnable from then on
    assert before <= int(at) <= scripts.now_ms()
    assert int(due) == int(at) + 60_000
    for name in ("created_at", "enqueued_at"):
        told = datetime.fromisoformat(record.pop(name).decode())
        assert round(told.timestamp() * 1000) == int(at)
    assert record == {
        "status": b"scheduled", "data": DATA, "origin": b"acme.bulk", "description": b"t.work", "timeout": b"2",
        "result_ttl": b"9", "worker_name": b"", "started_at": b"", "jo_type": b"t.work",
        "jo_tenant": b"acme", "jo_lane": b"bulk", "jo_attempt": b"0", "jo_max_attempts": b"7", "jo_timeout": b"1234",
        "jo_lease": b"4321", "jo_key": b"k", "jo_correlation": b"c", "jo_result_ttl": b"9", "jo_priority": b"front",
        "jo_front": b"1", "jo_tenant_uid": b"7", "jo_replay_of": b"dead:1", "jo_resource": b"stripe",
        "jo_dedup": b"5", "jo_keep": b"3", "jo_batch": b"B", "jo_state": b"{}",
    }  # fmt: skip
    assert 86_000 < engine.redis.ttl(engine.keys.pushed("a")) <= 86_400


def test_a_job_carries_nothing_that_it_was_not_given(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    options = {"jo_replay_of", "jo_resource", "jo_dedup", "jo_keep", "jo_batch", "jo_state", "jo_due"}
    assert not options & {name.decode() for name in engine.redis.hkeys("rq:job:a")}


def test_what_a_job_need_not_have_is_not_written(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    assert not {"jo_key", "jo_priority", "ended_at"} & {name.decode() for name in engine.redis.hkeys("rq:job:a")}
    claimed = Slot(scripts).need()
    assert (claimed.key, claimed.tenant_uid) == ("", "")
    view = read_job(engine, "a")
    assert view is not None
    assert (view.key, view.tenant_uid, view.ended_at) == ("", "", None)


@pytest.mark.parametrize("front", [False, True])
@pytest.mark.parametrize("policy", [{}, {"depth_limit": 9}], ids=["no_limit", "limit"])
def test_behind_others_a_job_waits_as_the_first_does(
    engine: Engine, scripts: Scripts, policy: dict[str, Any], front: bool
) -> None:
    """The ring is entered and a slot is woken by every job: others may have waited while the tenant was held."""
    scripts.set_policy(Policy("acme", **policy))
    scripts.enqueue(job("first"))
    keys = engine.keys
    engine.redis.delete(keys.ring("bulk"))
    engine.redis.zadd(keys.idle("bulk"), {"slot": scripts.now_ms() + 60_000})
    active = engine.redis.zrange(keys.active("bulk"), 0, -1, withscores=True)
    assert scripts.enqueue(job("second", front=front)).state == "queued"
    assert queued(engine) == (["second", "first"] if front else ["first", "second"])
    assert engine.redis.zrange(keys.ring("bulk"), 0, -1) == [b"acme"]
    assert engine.redis.llen(keys.wake("bulk")) == 1
    assert engine.redis.zrange(keys.active("bulk"), 0, -1, withscores=True) == active
    assert engine.redis.smembers("rq:queues") == {b"rq:queue:acme.bulk"}


@pytest.mark.parametrize("when", [{}, {"delay_ms": 60_000}], ids=["now", "later"])
@pytest.mark.parametrize("how", [{}, {"key": "k"}, {"batch": "b"}], ids=["alone", "key", "batch"])
def test_a_place_that_holds_other_data_takes_no_job_and_nothing_is_kept(
    engine: Engine, scripts: Scripts, when: dict[str, int], how: dict[str, str]
) -> None:
    """Else its id would count as pushed, and the job be nowhere."""
    place = RQ_SCHEDULED if when else "rq:queue:acme.bulk"
    engine.redis.set(place, "somebody else's")
    before = dump(engine.redis)
    with pytest.raises(NotTaken):
        scripts.enqueue(job("a", **when, **how))
    assert dump(engine.redis) == before
    engine.redis.delete(place)


def test_a_second_push_of_an_id_changes_nothing(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    before = dump(engine.redis)
    assert scripts.enqueue(job("a", lane="interactive")) == Enqueued("a", "duplicate")
    assert dump(engine.redis) == before


def test_a_second_push_changes_nothing_when_the_job_has_ended_and_is_forgotten(
    engine: Engine, scripts: Scripts
) -> None:
    scripts.enqueue(job("a"))
    Slot(scripts).run()
    engine.redis.delete("rq:job:a")
    assert scripts.enqueue(job("a")).state == "duplicate"
    assert Slot(scripts, "other").claim() is None


@pytest.mark.parametrize("state", ["queued", "scheduled", "started", "finished", "failed", "canceled"])
def test_a_push_long_after_the_first_never_overwrites_a_job_that_is_still_known(
    engine: Engine, scripts: Scripts, state: str
) -> None:
    """The mark of a push lives a day; a job may wait, run or be kept for longer."""
    slot = Slot(scripts)
    scripts.enqueue(job("a", delay_ms=60_000 if state == "scheduled" else 0, max_attempts=1))
    if state in ("started", "finished", "failed"):
        claimed = slot.need()
        if state != "started":
            slot.settle(claimed, Outcome.failed("error") if state == "failed" else None)
    if state == "canceled":
        scripts.cancel("a")
    engine.redis.delete(engine.keys.pushed("a"))
    before = dump(engine.redis)
    assert scripts.enqueue(job("a")).state == "duplicate"
    assert dump(engine.redis) == before


def test_a_delayed_job_waits_until_it_is_due(engine: Engine, scripts: Scripts) -> None:
    before = scripts.now_ms()
    assert scripts.enqueue(job("a", delay_ms=60_000)) == Enqueued("a", "scheduled")
    assert queued(engine) == []
    due = engine.redis.zscore(RQ_SCHEDULED, "a") * 1000
    assert before + 60_000 <= round(due) <= scripts.now_ms() + 60_000
    make_due(engine, "a")
    assert scripts.promote().moved == 1
    assert queued(engine) == ["a"]


def test_an_absolute_due_time_is_kept_to_the_millisecond(engine: Engine, scripts: Scripts) -> None:
    due = scripts.now_ms() + 86_400_123
    assert scripts.enqueue(job("a", due_at_ms=due)).state == "scheduled"
    assert round(engine.redis.zscore(RQ_SCHEDULED, "a") * 1000) == due
    before = scripts.now_ms()
    wait = scripts.promote().wait_ms
    assert wait is not None
    assert before <= due - wait + 1 <= scripts.now_ms() + 1


def test_a_due_time_that_has_passed_means_now(engine: Engine, scripts: Scripts) -> None:
    assert scripts.enqueue(job("a", due_at_ms=1)).state == "queued"
    assert queued(engine) == ["a"]


def test_an_unknown_tenant_is_refused_and_nothing_is_kept(engine: Engine, scripts: Scripts) -> None:
    before = dump(engine.redis)
    with pytest.raises(UnknownTenant, match="'nobody' is not known"):
        scripts.enqueue(job("a", tenant="nobody"))
    assert dump(engine.redis) == before
    scripts.set_policy(Policy("nobody"))
    assert scripts.enqueue(job("a", tenant="nobody")).state == "queued"


def test_a_lane_that_does_not_exist_is_refused_and_nothing_is_kept(engine: Engine, scripts: Scripts) -> None:
    before = dump(engine.redis)
    with pytest.raises(InvalidJob, match=r"lane: 'slow' is not a lane.*JOBOPS_LANES"):
        scripts.enqueue(job("a", lane="slow"))
    assert dump(engine.redis) == before


def test_a_closed_intake_refuses_new_jobs_and_lets_the_old_ones_run(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("old"))
    scripts.set_policy(Policy("acme", intake_closed=True))
    before = dump(engine.redis)
    with pytest.raises(IntakeClosed, match="the intake of 'acme' is closed"):
        scripts.enqueue(job("new"))
    assert dump(engine.redis) == before
    assert Slot(scripts).need().id == "old"
    scripts.set_policy(Policy("acme"))
    assert scripts.enqueue(job("new")).state == "queued"


def test_the_depth_limit_counts_what_waits_in_all_lanes(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", depth_limit=2))
    scripts.enqueue(job("a"))
    scripts.enqueue(job("b", lane="interactive"))
    before = dump(engine.redis)
    with pytest.raises(DepthExceeded) as refused:
        scripts.enqueue(job("c"))
    assert (refused.value.depth, refused.value.limit, refused.value.tenant) == (2, 2, "acme")
    assert dump(engine.redis) == before
    assert scripts.enqueue(job("other", tenant="beta")).state == "queued"
    Slot(scripts).need()
    assert scripts.enqueue(job("c")).state == "queued"


def test_delayed_and_running_jobs_are_no_depth(scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", depth_limit=1))
    scripts.enqueue(job("runs"))
    Slot(scripts).need()
    for name in ("later", "latest"):
        assert scripts.enqueue(job(name, delay_ms=60_000)).state == "scheduled"
    assert scripts.enqueue(job("waits")).state == "queued"


def test_a_depth_limit_of_nought_refuses_everything(scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", depth_limit=0))
    with pytest.raises(DepthExceeded):
        scripts.enqueue(job("a"))


def test_many_are_answered_in_order_with_each_refusal_in_its_place(engine: Engine, scripts: Scripts) -> None:
    answers = scripts.enqueue_many([job("a"), job("b", tenant="nobody"), job("a"), job("c", delay_ms=99_000)])
    assert [type(answer) for answer in answers] == [Enqueued, UnknownTenant, Enqueued, Enqueued]
    assert [answer.state for answer in answers if isinstance(answer, Enqueued)] == ["queued", "duplicate", "scheduled"]
    assert isinstance(answers[1], EnqueueRefused)
    assert queued(engine) == ["a"]
    assert scripts.enqueue_many([]) == []


def test_many_work_after_redis_forgot_its_scripts(engine: Engine, scripts: Scripts) -> None:
    engine.redis.script_flush()
    assert [a.state for a in scripts.enqueue_many([job("a"), job("b")]) if isinstance(a, Enqueued)] == ["queued"] * 2
    engine.redis.script_flush()
    assert scripts.enqueue(job("c")).state == "queued"


def test_three_relays_that_push_the_same_rows_make_each_job_once(engine: Engine, scripts: Scripts) -> None:
    """OB-04: several relays read the same rows, one of them late."""
    rows = [job(f"row{n}") for n in range(200)]
    for relay in (rows, list(reversed(rows)), rows):
        scripts.enqueue_many(relay)
    assert len(queued(engine)) == 200
    slot = Slot(scripts)
    while claimed := slot.claim():
        slot.settle(claimed)
    scripts.enqueue_many(rows)
    assert queued(engine) == []
