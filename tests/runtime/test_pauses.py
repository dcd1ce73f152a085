"""Pauses of everything, of a job type and of a resource: in force at once, and for as long as their row stands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobops.audit.models import AuditEntry
from jobops.contracts import registry
from jobops.engine.client import Engine
from jobops.engine.gates import read_gates
from jobops.engine.records import Outcome
from jobops.limits import services
from jobops.limits.drift import drifts
from jobops.limits.errors import AlreadyPaused, NotPaused
from jobops.limits.models import Pause
from jobops.limits.targets import EVERYTHING, Target, find
from jobops.runtime import enqueuer
from jobops.scheduling.duties import Context
from jobops.steward import policies
from jobops.steward.limits import Limits
from jobops.steward.reconcile import Reconciler
from tests.contracts.catalogs import declare
from tests.runtime.conftest import Outage
from tests.runtime.factory import claim, new_job, settle

pytestmark = pytest.mark.django_db(transaction=True)

SEND, STRIPE = Target("type", "mail.send"), Target("resource", "stripe")


@pytest.fixture(autouse=True)
def contracts() -> Iterator[None]:
    """``mail.send``, once called ``mail.old``, needs stripe; another type needs nothing."""
    with registry.temporary_registry():
        declare(name="mail.send", aliases="mail.old", resource="stripe", concurrency=10)
        declare(name="mail.other")
        yield


def send(**fields: str) -> str:
    return enqueuer().enqueue(new_job(**{"job_type": "mail.send", "resource": "stripe", **fields})).id


@pytest.mark.parametrize("target", [SEND, STRIPE, EVERYTHING], ids=str)
def test_after_a_pause_nothing_of_it_starts_until_it_is_resumed(both: Engine, target: Target) -> None:
    """CC-10"""
    both.prepare()
    change = services.pause(target=target, by="tests", reason="moving")
    assert (change.in_force, change.problem) == (True, "")
    job = send()
    assert claim(both) is None
    assert services.resume(target=target, by="tests").in_force
    found = claim(both)
    assert found is not None
    assert found.id == job


def test_a_paused_type_and_a_paused_resource_leave_others_alone(both: Engine) -> None:
    both.prepare()
    services.pause(target=SEND, by="tests")
    services.pause(target=STRIPE, by="tests")
    send()
    other = enqueuer().enqueue(new_job(job_type="mail.other")).id
    found = claim(both)
    assert found is not None
    assert found.id == other


@pytest.mark.parametrize("target", [SEND, STRIPE, EVERYTHING], ids=str)
def test_a_pause_outlives_a_restart_and_a_flush_and_covers_recovered_jobs(outage: Outage, target: Target) -> None:
    """CC-11: pause; restart Redis; a lost worker's job, a retry and a new job; flush; 0 starts until resume."""
    engine = outage.engine
    policies.run(Context(engine))
    send()
    send()
    running, lost = claim(engine), claim(engine)
    assert running is not None
    assert lost is not None
    services.pause(target=target, by="tests", reason="test")
    outage.begin()
    outage.end()
    settle(engine, running, Outcome.failed("error", delay_ms=0))
    engine.scripts.promote()
    engine.redis.delete(f"jobops:lease:{lost.id}")
    engine.redis.zrem("jobops:leases", lost.id)
    Reconciler().run(Context(engine))
    assert claim(engine) is None
    engine.redis.flushall()
    engine.prepare()  # as a worker does when Redis came back
    # The enqueue itself brings the tenant back; no duty has run yet.
    send()
    assert engine.scripts.policy("acme") is not None
    assert claim(engine) is None
    policies.run(Context(engine))
    Limits().run(Context(engine))
    assert claim(engine) is None
    services.resume(target=target, by="tests")
    assert claim(engine) is not None


def test_a_second_pause_keeps_who_was_first_and_says_so(both: Engine) -> None:
    services.pause(target=STRIPE, by="anna", reason="429 everywhere")
    with pytest.raises(AlreadyPaused, match=r"resource stripe is already paused by anna since .*: 429 everywhere$"):
        services.pause(target=STRIPE, by="ben", reason="mine")
    row = Pause.objects.get()
    assert (row.paused_by, row.reason) == ("anna", "429 everywhere")
    assert AuditEntry.objects.filter(action="resource.pause").count() == 1


def test_a_pause_and_its_row_in_the_audit_are_one(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no audit")

    with monkeypatch.context() as patch:
        patch.setattr(services.recording, "record", fail)
        with pytest.raises(ValueError, match="no audit"):
            services.pause(target=STRIPE, by="tests")
    assert not Pause.objects.exists()
    assert not read_gates(both, ["stripe"])[0].paused


def test_what_is_not_paused_cannot_be_resumed_but_redis_is_told(both: Engine) -> None:
    both.scripts.pause_gate("stripe")
    with pytest.raises(NotPaused, match="resource stripe is not paused"):
        services.resume(target=STRIPE, by="tests")
    assert not read_gates(both, ["stripe"])[0].paused


@pytest.mark.parametrize("target", [STRIPE, EVERYTHING], ids=str)
def test_with_redis_away_it_is_said_and_the_duty_does_it_later(outage: Outage, target: Target) -> None:
    engine = outage.engine
    send()
    outage.begin()
    change = services.pause(target=target, by="tests")
    assert not change.in_force
    assert "Redis could not be reached" in change.problem
    with pytest.raises(AlreadyPaused, match="not in force yet"):
        services.pause(target=target, by="tests")
    outage.end()
    assert Limits().run(Context(engine)) == 1
    assert claim(engine) is None
    outage.begin()
    assert not services.resume(target=target, by="tests").in_force
    outage.end()
    assert Limits().run(Context(engine)) == 1
    assert claim(engine) is not None


def test_a_duty_that_read_before_somebody_paused_does_not_resume(both: Engine) -> None:
    """CC-10: it acts on what stands in the row by then, in one turn with its write."""
    both.scripts.pause_gate("stripe")
    both.scripts.pause()
    both.prepare()
    found = drifts(both)
    assert {drift.gate for drift in found} == {"stripe", ""}
    services.pause(target=STRIPE, by="tests")
    services.pause(target=EVERYTHING, by="tests")
    for drift in found:
        drift.mend(both)
    assert read_gates(both, ["stripe"])[0].paused
    assert both.scripts.is_paused()


def test_a_pause_of_a_job_type_covers_its_former_name_and_lasts_through_a_renaming(both: Engine) -> None:
    both.prepare()
    services.pause(target=find("mail.old"), by="tests")
    enqueuer().enqueue(new_job(job_type="mail.old", resource="stripe"))
    assert claim(both) is None
    with registry.temporary_registry():
        declare(name="mail.newest", aliases=["mail.send", "mail.old"])
        Limits().run(Context(both))
        enqueuer().enqueue(new_job(job_type="mail.newest"))
        assert claim(both) is None
        services.resume(target=find("mail.newest"), by="tests")
        assert not Pause.objects.exists()
        assert claim(both) is not None
