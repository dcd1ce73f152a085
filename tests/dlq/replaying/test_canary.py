"""The canary: a few run first and are watched to their end; the others follow by themselves, or not at all."""

from __future__ import annotations

import pytest

from dlq.bulk_progress import progress
from dlq.models import BulkMember, DeadLetter, ReplayRun
from dlq.replay_control import replay_resume
from dlq.replay_guard import CanaryStanding
from dlq.services import letter_discard
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.letters import letters, states
from tests.dlq.replaying.many import confirmed, end, fail, plan_of, sent, succeed, work
from tests.dlq.replays import FAILED
from tests.runtime import factory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def test_the_rest_follows_by_itself_when_the_canary_succeeded(both: Engine, acme: Tenant) -> None:
    first = letters(acme, 4)
    second, third = letters(factory.tenant("b"), 4), letters(factory.tenant("c"), 4)
    bulk = work(confirmed(canary=3))
    assert sent(bulk) == [first[0].pk, second[0].pk, third[0].pk], "of each tenant the oldest"
    assert (bulk.state, bulk.done, plan_of(bulk).phase) == ("running", 3, "canary")
    assert progress(bulk).canary == CanaryStanding(3, running=3, succeeded=0, failed=0)
    assert work(bulk).done == 3, "it waits"
    end(both, 2)
    assert work(bulk).done == 3, "for the last one too"
    succeed(both)
    work(bulk)
    assert (bulk.state, bulk.done, plan_of(bulk).phase) == ("finished", 12, "rest")
    assert len(set(sent(bulk))) == 12
    assert plan_of(bulk).canary_passed_at is not None
    assert progress(bulk).canary == CanaryStanding(3, running=0, succeeded=3, failed=0)
    row = AuditEntry.objects.get(action="bulk.canary")
    assert (row.actor, row.after["succeeded"]) == ("scheduler", 3)


def test_too_many_failures_stop_it_and_it_says_which(both: Engine, acme: Tenant) -> None:
    some = letters(acme, 9)
    bulk = work(confirmed(canary=3))
    end(both, 1, FAILED)
    work(bulk)
    plan = plan_of(bulk)
    assert (bulk.state, bulk.done, plan.paused_by) == ("paused", 3, "canary")
    assert plan.paused_why.startswith("1 of 3 that ran first failed")
    assert "broken again" in plan.paused_why
    died = ReplayRun.objects.get(bulk=bulk, state="died").letter_id
    assert f". No. {died} died again in its attempt 1: " in plan.paused_why, "which letter, not which of its replays"
    listed = BulkMember.objects.filter(bulk=bulk, canary=True).values_list("letter_id", flat=True)
    assert sorted(listed) == [each.pk for each in some[:3]]
    assert ReplayRun.objects.get(bulk=bulk, state="died").letter_id in listed
    succeed(both)
    assert work(bulk).done == 3
    assert states(some[3:]) == ["open"] * 6, "nothing else was touched"
    row = AuditEntry.objects.get(action="bulk.pause")
    assert (row.actor, row.after["stopped_by"], row.reason) == ("scheduler", "canary", plan.paused_why)


def test_going_on_begins_with_a_fresh_canary_of_the_rest(both: Engine, acme: Tenant) -> None:
    some = letters(acme, 9)
    bulk = work(confirmed(canary=3))
    fail(both)
    assert work(bulk).state == "paused"
    replay_resume(bulk_id=bulk.pk, by="command:bob")
    work(bulk)
    assert sent(bulk) == [each.pk for each in some[:6]], "three more, none of them again"
    assert progress(bulk).canary == CanaryStanding(3, running=3, succeeded=0, failed=0)
    fail(both)
    assert work(bulk).state == "paused", "the second canary stops it as the first one did"
    replay_resume(bulk_id=bulk.pk, by="command:bob")
    work(bulk)
    succeed(both)
    assert work(bulk).state == "finished"
    assert set(DeadLetter.objects.values_list("replays", flat=True)) == {1}
    assert bulk.done == len(sent(bulk)) == 9


def test_as_many_may_fail_as_was_said(both: Engine, acme: Tenant) -> None:
    letters(acme, 8)
    bulk = work(confirmed(canary=3, canary_failures=1, breaker_percent=100.0))
    end(both, 1, FAILED)
    succeed(both)
    assert (work(bulk).state, plan_of(bulk).phase) == ("finished", "rest")
    letters(acme, 8)
    again = work(confirmed(canary=3, canary_failures=1))
    end(both, len(factory.waiting(both, "acme.bulk")), FAILED)
    assert work(again).state == "paused"


def test_one_that_is_skipped_or_joined_another_job_is_replaced(both: Engine, acme: Tenant) -> None:
    some = letters(acme, 8)
    bulk = confirmed(canary=3)
    letter_discard(letter_id=some[1].pk, by="command:bob", reason="r")
    work(bulk)
    assert sent(bulk) == [some[0].pk, some[2].pk, some[3].pk]
    ReplayRun.objects.filter(bulk=bulk, letter=some[0]).update(state="coalesced")
    work(bulk)
    assert sent(bulk) == [some[0].pk, some[2].pk, some[3].pk, some[4].pk], "nobody saw how the first one would run"
    assert progress(bulk).canary == CanaryStanding(3, running=3, succeeded=0, failed=0)


@pytest.mark.parametrize("state", ["cancelled", "refused", "lost", "died"])
def test_whatever_did_not_succeed_failed(both: Engine, acme: Tenant, state: str) -> None:
    letters(acme, 8)
    bulk = work(confirmed(canary=2))
    ReplayRun.objects.filter(bulk=bulk, letter=sent(bulk)[0]).update(state=state)
    assert work(bulk).state == "paused"


def test_an_end_that_comes_late_counts(both: Engine, acme: Tenant) -> None:
    """Taken for lost, and then it succeeds after all: before anybody judged, it has succeeded."""
    letters(acme, 6)
    bulk = work(confirmed(canary=2, canary_failures=1))
    ReplayRun.objects.filter(bulk=bulk, letter=sent(bulk)[0]).update(state="lost")
    assert progress(bulk).canary == CanaryStanding(2, running=1, succeeded=0, failed=1)
    end(both, 1)
    assert progress(bulk).canary == CanaryStanding(2, running=1, succeeded=1, failed=0)


def test_a_paused_tenant_gives_no_canary_as_long_as_there_is_another(both: Engine, acme: Tenant) -> None:
    letters(acme, 3)
    awake = letters(factory.tenant("b"), 3)
    Tenant.objects.filter(pk=acme.pk).update(paused=True)
    assert sent(work(confirmed(canary=2))) == [each.pk for each in awake[:2]]


def test_a_canary_of_all_is_a_replay_as_ever(both: Engine, acme: Tenant) -> None:
    letters(acme, 5)
    bulk = work(confirmed())
    assert (bulk.state, bulk.done) == ("finished", 5)


def test_letters_that_open_while_they_are_passed_over_are_watched_too(both: Engine, acme: Tenant) -> None:
    """All of them are being replayed when it is confirmed: none is fit. One of them opens meanwhile."""
    some = letters(acme, 8)
    bulk = confirmed(canary=2)
    DeadLetter.objects.filter(pk__in=[each.pk for each in some]).update(state="replaying")
    BulkMember.objects.filter(bulk=bulk).update(canary=False)
    DeadLetter.objects.filter(pk__in=[each.pk for each in some[4:]]).update(state="open")
    work(bulk)
    assert bulk.state == "running"
    assert sent(bulk) == [some[4].pk, some[5].pk]
