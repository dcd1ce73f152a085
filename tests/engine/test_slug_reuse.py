"""A slug may be given to another customer. A job belongs to the tenant it was enqueued for."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.errors import UnknownTenant
from jobops.engine.jobs import read_job
from jobops.engine.records import Outcome, Policy
from tests.engine.helpers import BOOM, LANES, Slot, dump, job
from tests.engine.invariants import check


@pytest.fixture
def running(engine: Engine) -> Slot:
    engine.scripts.set_policy(Policy("acme", uid="1"))
    engine.scripts.enqueue(job("a"))
    slot = Slot(engine.scripts)
    slot.need()
    engine.scripts.drop_policy("acme")
    return slot


def check_dead(engine: Engine, reason: str) -> None:
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, view.reason, view.tenant_uid) == ("dead", reason, "1")
    assert [death.job_id for death in engine.scripts.dead_batch()] == ["a"]
    assert Slot(engine.scripts, "next").claim() is None


@pytest.mark.parametrize("reused", [True, False])
def test_what_fails_after_its_tenant_was_deleted_dies(engine: Engine, running: Slot, reused: bool) -> None:
    if reused:
        engine.scripts.set_policy(Policy("acme", uid="2"))
    assert running.settle(outcome=BOOM).outcome == "dead"
    check_dead(engine, "exhausted")


@pytest.mark.parametrize("reused", [True, False])
def test_what_is_released_or_lost_after_its_tenant_was_deleted_dies(
    engine: Engine, running: Slot, reused: bool
) -> None:
    if reused:
        engine.scripts.set_policy(Policy("acme", uid="2"))
        assert running.settle(outcome=Outcome.released()).outcome == "dead"
        check_dead(engine, "exhausted")
    else:
        assert engine.scripts.abandon("slot") == "dead"
        check_dead(engine, "worker_lost")


def test_what_still_waits_under_the_slug_never_runs_for_its_next_owner(engine: Engine) -> None:
    engine.scripts.set_policy(Policy("acme", uid="1"))
    engine.scripts.enqueue_many([job("a"), job("b", delay_ms=1)])
    engine.scripts.drop_policy("acme")
    engine.scripts.set_policy(Policy("acme", uid="2"))
    engine.scripts.enqueue(job("c"))
    engine.redis.zadd("rq:scheduler:scheduled_jobs", {"b": 1})
    engine.scripts.promote()
    slot = Slot(engine.scripts)
    assert slot.need().id == "c"
    assert slot.claim() is None
    deaths = {death.job_id: death.fields[b"jo_error_class"] for death in engine.scripts.dead_batch()}
    assert deaths == {"a": b"TenantDeleted", "b": b"TenantDeleted"}


def test_what_was_asked_for_by_the_former_owner_is_refused(engine: Engine) -> None:
    """A row of the outbox may be pushed when the slug is another customer's."""
    engine.scripts.set_policy(Policy("acme", uid="2"))
    before = dump(engine.redis)
    with pytest.raises(UnknownTenant):
        engine.scripts.enqueue(job("a", tenant_uid="1"))
    assert dump(engine.redis) == before
    assert engine.scripts.enqueue(job("a", tenant_uid="2")).state == "queued"
    assert engine.scripts.enqueue(job("b")).state == "queued", "whoever has the slug"


def test_a_policy_without_an_identity_takes_jobs_of_any(engine: Engine) -> None:
    engine.scripts.set_policy(Policy("acme"))
    assert engine.scripts.enqueue(job("a", tenant_uid="1")).state == "queued"


def test_a_job_knows_whose_it_is_while_it_runs_also_when_it_is_told_twice(engine: Engine) -> None:
    engine.scripts.set_policy(Policy("acme", uid="1"))
    engine.scripts.enqueue(job("a"))
    first, again = (engine.scripts.claim("s", 1, "w", list(LANES)).job for _ in range(2))
    assert first is not None
    assert (first.tenant_uid, again) == ("1", first)


def test_a_key_that_a_job_of_the_former_owner_holds_is_free(engine: Engine) -> None:
    engine.scripts.set_policy(Policy("acme", uid="1"))
    engine.scripts.enqueue(job("a", key="k"))
    slot = Slot(engine.scripts)
    slot.need()
    place = ("acme", "t.work", "k")
    assert engine.scripts.key_holders([place]) == ["a"]
    engine.scripts.drop_policy("acme")
    engine.scripts.set_policy(Policy("acme", uid="2"))
    assert engine.scripts.key_holders([place]) == [None]
    assert engine.scripts.enqueue(job("b", key="k")).state == "queued"
    slot.settle()
    assert engine.scripts.key_holders([place]) == ["b"]
    check(engine)


def test_a_policy_that_redis_lost_and_got_back_changes_nothing(engine: Engine) -> None:
    engine.scripts.set_policy(Policy("acme", uid="1"))
    engine.scripts.enqueue(job("a"))
    slot = Slot(engine.scripts)
    slot.need()
    engine.redis.delete(engine.keys.tenant("acme"))
    assert slot.settle(outcome=BOOM).outcome == "retry"
    engine.scripts.set_policy(Policy("acme", uid="1"))
    engine.scripts.promote()
    assert slot.need().id == "a"
    check(engine)
