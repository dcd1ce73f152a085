"""Pause, resume, cancel and a new speed, at any instant of a replay."""

from __future__ import annotations

import pytest

from dlq.bulk import bulk_cancel, bulk_confirm, bulk_draft
from dlq.bulk_run import run_batch
from dlq.errors import InvalidAction, WrongBulkState
from dlq.models import BulkAction, DeadLetter, ReplayPlan, ReplayRun
from dlq.replay_control import replay_pause, replay_resume, replay_set_speed
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.letters import letters, states
from tests.dlq.replaying.many import confirmed, fail, plan_of, sent, succeed, work
from tests.tenants.people import person

pytestmark = pytest.mark.django_db(transaction=True)
WHO = "command:bob"


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def test_a_pause_sends_nothing_more_and_what_was_sent_runs_on(both: Engine, acme: Tenant) -> None:
    some = letters(acme, 9)
    bulk, who = confirmed(canary=0), person()
    run_batch(bulk.pk, 4)
    replay_pause(bulk_id=bulk.pk, by=who, why="the provider asked us to")
    assert (work(bulk).state, bulk.done) == ("paused", 4)
    succeed(both)
    assert states(some) == ["resolved"] * 4 + ["open"] * 5
    plan = plan_of(bulk)
    assert (plan.paused_by, plan.paused_why) == (who.get_username(), "the provider asked us to")
    replay_resume(bulk_id=bulk.pk, by=WHO)
    assert (work(bulk).state, bulk.done, plan_of(bulk).paused_by) == ("finished", 9, "")
    assert sent(bulk) == [each.pk for each in some], "each once"
    told = AuditEntry.objects.filter(action__in=["bulk.pause", "bulk.resume"]).order_by("pk")
    assert [(row.action, row.actor, row.reason) for row in told] == [
        ("bulk.pause", who.get_username(), "the provider asked us to"),
        ("bulk.resume", WHO, ""),
    ]


def test_a_pause_of_the_canary_goes_on_with_the_same_canary(both: Engine, acme: Tenant) -> None:
    letters(acme, 9)
    bulk = work(confirmed(canary=3))
    replay_pause(bulk_id=bulk.pk, by=WHO)
    fail(both)
    assert work(bulk).state == "paused"
    assert plan_of(bulk).paused_by == WHO
    replay_resume(bulk_id=bulk.pk, by=WHO)
    assert (work(bulk).state, plan_of(bulk).paused_by) == ("paused", "canary"), "that it failed meanwhile counts"
    assert len(sent(bulk)) == 3


def test_a_paused_one_can_be_cancelled(both: Engine, acme: Tenant) -> None:
    some = letters(acme, 9)
    bulk = work(confirmed(canary=3))
    fail(both)
    assert work(bulk).state == "paused"
    bulk_cancel(bulk_id=bulk.pk, by=WHO)
    assert work(bulk).state == "cancelled"
    assert states(some) == ["open"] * 9
    with pytest.raises(WrongBulkState, match="it was cancelled"):
        replay_resume(bulk_id=bulk.pk, by=WHO)


def test_what_is_not_possible_is_refused(acme: Tenant) -> None:
    letters(acme, 9)
    bulk = work(confirmed(canary=3))
    with pytest.raises(WrongBulkState, match="it is running already"):
        replay_resume(bulk_id=bulk.pk, by=WHO)
    replay_pause(bulk_id=bulk.pk, by=WHO)
    with pytest.raises(WrongBulkState, match="it is paused"):
        replay_pause(bulk_id=bulk.pk, by=WHO)
    with pytest.raises(WrongBulkState, match="it is paused"):
        bulk_confirm(bulk_id=bulk.pk, by=WHO)
    discard = bulk_draft(kind="discard", letters=DeadLetter.objects.all(), by=WHO, chosen="", reason="r")
    for act in (replay_pause, replay_resume):
        with pytest.raises(InvalidAction, match="only a replay"):
            act(bulk_id=discard.pk, by=WHO)
        with pytest.raises(BulkAction.DoesNotExist):
            act(bulk_id=10**6, by=WHO)


def test_a_new_speed_is_checked_told_and_kept(acme: Tenant) -> None:
    letters(acme, 9)
    bulk = work(confirmed(canary=3, spread_s=60))
    replay_set_speed(bulk_id=bulk.pk, by=WHO, rate=50.0, in_flight=4)
    plan = plan_of(bulk)
    assert (plan.rate, plan.in_flight, plan.spread_s) == (50.0, 4, None)
    row = AuditEntry.objects.get(action="bulk.speed")
    assert (row.before["spread_s"], row.after["rate"], row.after["in_flight"]) == (60, 50.0, 4)
    for wrong in ({"rate": 0.0, "in_flight": None}, {"rate": None, "in_flight": 0}):
        with pytest.raises(InvalidAction):
            replay_set_speed(bulk_id=bulk.pk, by=WHO, **wrong)
    assert plan_of(bulk).rate == 50.0


def test_a_replay_from_before_there_were_plans_goes_on_and_can_be_paused(acme: Tenant) -> None:
    letters(acme, 9)
    bulk = confirmed()
    ReplayPlan.objects.all().delete()
    run_batch(bulk.pk, 4)
    replay_pause(bulk_id=bulk.pk, by=WHO)
    assert work(bulk).state == "paused"
    replay_resume(bulk_id=bulk.pk, by=WHO)
    assert (work(bulk).state, bulk.done) == ("finished", 9)
    assert ReplayRun.objects.count() == 9
