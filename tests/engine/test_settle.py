"""Settle: how each outcome ends a job, its repetition, and the next claim in the same call."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.errors import SlotClosed
from jobops.engine.jobs import read_job
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.records import Outcome, Settled
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, LANES, Slot, dump, job, queued, running, status

POISON = Outcome.failed("poison", "BadInput", "no such column", "Traceback")


def test_success_keeps_the_result_for_its_time(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", result_ttl_s=500))
    assert Slot(scripts).run(Outcome.succeeded(b'{"rows":3}')) == "succeeded"
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, view.result, view.attempts, view.worker) == ("succeeded", b'{"rows":3}', 1, "")
    assert view.ended_at is not None
    assert view.started_at is not None
    assert view.ended_at >= view.started_at
    assert 495 <= engine.redis.ttl("rq:job:a") <= 500


def test_a_failure_with_attempts_left_is_retried_after_its_delay(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=2))
    before = scripts.now_ms()
    assert Slot(scripts).run(Outcome.failed("error", "E", "text", "tb", delay_ms=60_000)) == "retry"
    assert before + 60_000 <= round(engine.redis.zscore(RQ_SCHEDULED, "a") * 1000) <= scripts.now_ms() + 60_000
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, view.error_class, view.error, view.traceback) == ("scheduled", "E", "text", "tb")
    assert view.due_at is not None


def test_a_failure_of_the_last_attempt_is_the_death(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=1))
    assert Slot(scripts).run(BOOM) == "dead"
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, view.reason, view.error) == ("dead", "exhausted", "boom")
    assert engine.redis.zrange(engine.keys.dead(), 0, -1) == [b"a:1"]
    assert engine.redis.ttl("rq:job:a") == -1


@pytest.mark.parametrize("cause", ["poison", "unresolvable"])
def test_poison_and_unresolvable_die_at_once_with_attempts_left(engine: Engine, scripts: Scripts, cause: str) -> None:
    """PX-02: what cannot be loaded is not tried again."""
    scripts.enqueue(job("a", max_attempts=5))
    assert Slot(scripts).run(Outcome.failed(cause, "E", "bad", delay_ms=5)) == "dead"  # type: ignore[arg-type]
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, view.reason, view.attempts) == ("dead", cause, 1)
    assert engine.redis.zcard(RQ_SCHEDULED) == 0


@pytest.mark.parametrize("cause", ["timeout", "worker_lost"])
def test_a_death_keeps_its_cause(engine: Engine, scripts: Scripts, cause: str) -> None:
    scripts.enqueue(job("a", max_attempts=1))
    Slot(scripts).run(Outcome.failed(cause))  # type: ignore[arg-type]
    view = read_job(engine, "a")
    assert view is not None
    assert view.reason == cause


def test_a_discarded_job_leaves_no_death(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", result_ttl_s=50))
    assert Slot(scripts).run(Outcome.discarded("Gone", "the row was deleted")) == "discarded"
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, view.error_class, view.error) == ("discarded", "Gone", "the row was deleted")
    assert (engine.redis.zcard(engine.keys.dead()), engine.redis.zcard("rq:failed:acme.bulk")) == (0, 0)
    assert 0 < engine.redis.ttl("rq:job:a") <= 50


def test_failing_twice_and_then_succeeding_never_shows_a_death(engine: Engine, scripts: Scripts) -> None:
    """RT-07: a job that will be retried is not listed as failed, and leaves no ghost."""
    scripts.enqueue(job("a", max_attempts=3))
    slot = Slot(scripts)
    for outcome in (BOOM, BOOM, Outcome.succeeded()):
        scripts.promote()
        slot.run(outcome)
        assert engine.redis.zcard(engine.keys.dead()) == 0
        assert engine.redis.zcard("rq:failed:acme.bulk") == 0
    assert status(engine, "a") == "finished"


def test_a_settle_that_asks_for_the_next_job_gets_it(scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    slot = Slot(scripts)
    settled = slot.settle(slot.need(), claim=True)
    assert settled.outcome == "succeeded"
    assert settled.claim is not None
    assert settled.claim.job is not None
    assert settled.claim.job.id == "b"
    last = slot.settle(settled.claim.job, claim=True)
    assert last.claim is not None
    assert (last.claim.job, last.claim.wait_ms) == (None, 1000)


def test_a_settle_that_asks_for_nothing_gets_nothing(scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    slot = Slot(scripts)
    assert slot.settle(slot.need()) == Settled("succeeded", None)


@pytest.mark.parametrize(
    "outcome",
    [Outcome.succeeded(), BOOM, POISON, Outcome.discarded(), Outcome.released()],
    ids=["succeeded", "retry", "dead", "discarded", "released"],
)
@pytest.mark.parametrize("lanes", [(), LANES], ids=["alone", "with a claim"])
def test_the_same_settle_gets_the_same_answer_and_acts_once(
    engine: Engine, scripts: Scripts, outcome: Outcome, lanes: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    """Trap 1: without the request number a repeated settle finds its own success stale."""
    scripts.enqueue_many([job("a"), job("b")])
    claimed = scripts.claim("s", 1, "w", LANES).job
    assert claimed is not None
    first = scripts.settle("s", 2, claimed.id, claimed.token, outcome, claim_lanes=lanes, worker="w")
    assert first.outcome in request.node.name
    before = dump(engine.redis)
    assert scripts.settle("s", 2, claimed.id, claimed.token, outcome, claim_lanes=lanes, worker="w") == first
    assert dump(engine.redis) == before


def test_the_same_settle_after_an_empty_claim_gets_what_came_since(scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    claimed = slot.need()
    slot.settle(claimed, claim=True)
    scripts.enqueue(job("b"))
    slot.seq -= 1
    again = slot.settle(claimed, claim=True)
    assert again.outcome == "succeeded"
    assert again.claim is not None
    assert again.claim.job is not None
    assert again.claim.job.id == "b"


def test_an_older_settle_is_refused_and_changes_nothing(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    slot = Slot(scripts, "s")
    first = slot.need()
    second = slot.settle(first, claim=True).claim
    assert second is not None
    slot.claim()
    before = dump(engine.redis)
    with pytest.raises(SlotClosed):
        scripts.settle("s", 2, first.id, first.token, BOOM)
    assert dump(engine.redis) == before


def test_a_settle_frees_the_slot_of_the_cap_and_keeps_other_work_where_it_is(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b"), job("c")])
    slot = Slot(scripts)
    slot.settle(slot.need())
    assert running(engine) == 0
    assert queued(engine) == ["b", "c"]


def test_a_death_of_a_job_whose_hash_vanished_still_names_its_queue_and_type(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    claimed = slot.need()
    engine.redis.delete("rq:job:a")
    assert slot.settle(claimed, BOOM).outcome == "dead"
    (death,) = scripts.dead_batch()
    assert death.fields[b"origin"] == b"acme.bulk"
    assert death.fields[b"jo_type"] == b"t.work"
    assert death.fields[b"jo_tenant"] == b"acme"


def test_a_success_whose_hash_vanished_leaves_nothing_for_ever(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    claimed = slot.need()
    engine.redis.delete("rq:job:a")
    assert slot.settle(claimed).outcome == "succeeded"
    assert engine.redis.ttl("rq:job:a") > 0
    assert scripts.dead_batch() == []
