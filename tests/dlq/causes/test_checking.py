"""Counts that are wrong are found, told and put right; letters without a group get theirs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlq.causes.adopting import adopt
from dlq.causes.checking import PORTION, differences
from dlq.causes.repairing import repair
from dlq.causes.timing import KEEP_SPANS, forget_spans
from dlq.models import DeadLetter, DeadLetterGroup, GroupSpan, GroupTenant
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from jobops.scheduling.duties import Context
from jobops.steward import causes
from tenants.models import Tenant
from tests.dlq.causes.ways import Run, discard, end, group_of, replay, take_in, wrong
from tests.dlq.letters import unsaved

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get_or_create(slug="acme")[0]


@pytest.fixture
def group(acme: Tenant) -> DeadLetterGroup:
    letters = [take_in(acme, "torn") for _ in range(3)]
    take_in(None, "torn")
    discard(letters[0])
    return group_of(letters[0])


def facts() -> tuple[Any, ...]:
    counted = ("open", "replaying", "resolved", "discarded", "deaths", "tenants", "due_at", "last_seen_at", "state")
    shares = ("tenant", "open", "replaying", "resolved", "discarded")
    return (
        list(DeadLetterGroup.objects.order_by("pk").values_list(*counted)),
        list(GroupTenant.objects.order_by("pk").values_list(*shares)),
    )


Groups, Shares = DeadLetterGroup.objects, GroupTenant.objects
BREAKS: dict[str, Callable[[], object]] = {
    "open": lambda: Groups.update(open=7),
    "discarded": lambda: Groups.update(discarded=0),
    "due_at": lambda: Groups.update(due_at=None),
    "state": lambda: Groups.update(state="drained"),
    "deaths": lambda: Groups.update(deaths=1),
    "tenants": lambda: Groups.update(tenants=0),
    "last_seen_at": lambda: Groups.update(last_seen_at=timezone.now() - timedelta(days=1)),
    "a share's open": lambda: Shares.update(open=0),
    "a share": lambda: Shares.all().delete(),
    "a share too many": lambda: Shares.create(group=Groups.get(), tenant=Tenant.objects.create(slug="new"), open=1),
}  # fmt: skip


@pytest.mark.parametrize("broken", BREAKS)
def test_each_count_that_is_wrong_is_found_and_put_right(group: DeadLetterGroup, broken: str) -> None:
    right = facts()
    assert wrong() == []
    BREAKS[broken]()
    assert len(wrong()) >= 1
    assert repair(group.pk, "ada")
    assert wrong() == []
    if broken == "a share too many":
        assert Shares.exclude(open=0).count() == 1
    elif broken == "a share":
        assert facts()[1] == right[1]
    else:
        assert facts() == right
    row = AuditEntry.objects.get(action="group.repair")
    assert (row.actor, row.target_id) == ("ada", str(group.pk))
    assert repair(group.pk, "ada") == []


def test_a_letter_that_was_changed_behind_our_back_is_told(group: DeadLetterGroup) -> None:
    letter = DeadLetter.objects.filter(state="open", tenant__isnull=False).first()
    assert letter is not None
    DeadLetter.objects.filter(pk=letter.pk).update(state="resolved")
    assert wrong() == [
        f"group {group.pk}: open is 3, and should be 2",
        f"group {group.pk}: resolved is 0, and should be 1",
        f"group {group.pk}, tenant {letter.tenant_id}: open is 2, and should be 1",
        f"group {group.pk}, tenant {letter.tenant_id}: resolved is 0, and should be 1",
    ]


def test_all_portions_are_looked_at_with_one_statement_each(acme: Tenant, django_assert_num_queries: Any) -> None:
    count = PORTION + 20
    Groups.bulk_create([DeadLetterGroup(fingerprint=f"{n:064}", open=1, state="active") for n in range(count)])
    # Each has two: what is open, and no due time is right for none.
    with django_assert_num_queries(2 + 1 + 2):
        found = list(differences())
    assert len({difference.group_id for difference in found}) == count


def test_repair_leaves_alone_what_is_not_there(both: Engine) -> None:
    assert repair(10**9, "ada") == []


def test_old_letters_get_their_groups_and_are_counted_as_they_are(acme: Tenant) -> None:
    known = take_in(acme, "torn")
    old = [unsaved(acme, error="torn", dead_at=timezone.now() - timedelta(days=3 + n)) for n in range(5)]
    old += [unsaved(acme, error="wet", state="discarded", drained_at=timezone.now())]
    for letter in old:
        letter.save()
    replay(old[0])
    end(old[0], Run.CANCELLED)
    assert [adopt(limit=4), adopt(limit=4), adopt(limit=4)] == [4, 2, 0]
    torn, wet = group_of(known), group_of(old[-1])
    assert (torn.open, torn.deaths, torn.first_seen_at) == (6, 6, old[4].dead_at)
    assert (wet.discarded, wet.state, wet.deaths) == (1, "drained", 1)
    assert (torn.owner, wet.owner) == (known.owner, old[-1].owner)
    assert torn.due_at == min(DeadLetter.objects.filter(group=torn).values_list("due_at", flat=True))
    assert wrong() == []


def test_deaths_of_replays_before_there_were_groups_count_too(acme: Tenant) -> None:
    letter = take_in(acme, "torn")
    replay(letter)
    end(letter, Run.DIED, "torn")
    DeadLetter.objects.update(group=None)
    for model in (GroupSpan, GroupTenant, DeadLetterGroup):
        model.objects.all().delete()
    assert adopt() == 1
    assert group_of(letter).deaths == 2


def test_the_duty_adopts_wakes_and_forgets(acme: Tenant, both: Engine) -> None:
    letter = unsaved(acme, error="torn")
    letter.save()
    sleeper = group_of(take_in(acme, "wet"))
    Groups.filter(pk=sleeper.pk).update(state="snoozed", snoozed_until=timezone.now())
    assert causes.run(Context(both)) == 2
    assert causes.run(Context(both)) == 0
    letter.refresh_from_db()
    assert letter.group_id is not None
    assert Groups.get(pk=sleeper.pk).state == "active"


def test_five_minutes_are_forgotten_after_eight_days(group: DeadLetterGroup, both: Engine) -> None:
    long_ago = timezone.now() - KEEP_SPANS
    for n in range(5):
        GroupSpan.objects.create(group=group, at=long_ago - timedelta(minutes=5 + 5 * n), deaths=1)
    kept = GroupSpan.objects.create(group=group, at=long_ago + timedelta(minutes=5), deaths=1)
    assert [forget_spans(limit=3), causes.forget(Context(both)), forget_spans()] == [3, 2, 0]
    assert GroupSpan.objects.filter(pk=kept.pk).exists()
