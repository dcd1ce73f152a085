"""What happens to letters, and what their groups count then."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.causes.counting import refresh_due
from dlq.causes.tally import span_of
from dlq.inserting import insert
from dlq.models import DeadLetter, DeadLetterGroup, GroupSpan, GroupTenant
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.causes.ways import Run, discard, end, group_of, purge, replay, take_in, undo, wrong
from tests.dlq.letters import unsaved

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get_or_create(slug="acme")[0]


@pytest.fixture
def globex(both: Engine) -> Tenant:
    return Tenant.objects.get_or_create(slug="globex")[0]


def counts(group: DeadLetterGroup) -> tuple[int, ...]:
    return group.open, group.replaying, group.resolved, group.discarded, group.purged


def did(action: str) -> list[tuple[str, str]]:
    rows = AuditEntry.objects.filter(action=action, actor="scheduler").order_by("pk")
    return [(row.before["state"], row.after["state"]) for row in rows]


def test_deaths_of_one_cause_are_one_group_and_each_tenant_has_its_share(acme: Tenant, globex: Tenant) -> None:
    letters = [take_in(tenant, f"invoice {n} is torn") for n, tenant in enumerate([acme, acme, globex])]
    other = take_in(acme, "invoice 9 is wet")
    group = group_of(letters[0])
    assert {each.group_id for each in letters} == {group.pk} != {other.group_id}
    assert (group.title, counts(group), group.deaths, group.tenants) == ("invoice … is torn", (3, 0, 0, 0, 0), 3, 2)
    assert (group.state, group.sample_id, group.reopenings) == ("active", letters[-1].pk, 0)
    assert group.due_at == min(each.due_at for each in letters)
    assert (group.first_seen_at, group.last_seen_at) == (letters[0].dead_at, letters[2].dead_at)
    shares = GroupTenant.objects.filter(group=group).values_list("tenant__slug", "open", "deaths")
    assert set(shares) == {("acme", 2, 2), ("globex", 1, 1)}
    assert wrong() == []


def test_a_death_that_is_there_already_counts_nothing(acme: Tenant) -> None:
    letter = take_in(acme, "torn")
    again = unsaved(acme, error="torn", job_id=letter.job_id)
    again.tenant_uid = str(acme.pk)
    new = unsaved(acme, error="torn")
    new.tenant_uid = str(acme.pk)
    assert insert([again, new, again]) == {(letter.job_id, 1), (new.job_id, 1)}
    group = group_of(letter)
    assert (group.open, group.deaths) == (2, 2)
    assert wrong() == []


def test_a_replay_that_succeeds_drains_its_group(acme: Tenant) -> None:
    letter = take_in(acme, "torn")
    replay(letter)
    assert counts(group_of(letter)) == (0, 1, 0, 0, 0)
    assert group_of(letter).due_at == letter.due_at
    end(letter, Run.SUCCEEDED)
    group = group_of(letter)
    assert (counts(group), group.state, group.due_at) == ((0, 0, 1, 0, 0), "drained", None)
    assert did("group.drain") == [("active", "drained")]
    assert list(GroupSpan.objects.values_list("deaths", "drained")) in ([(1, 1)], [(1, 0), (0, 1)])
    assert wrong() == []


def test_a_replay_that_dies_of_the_same_cause_is_one_death_more(acme: Tenant) -> None:
    letter = take_in(acme, "torn")
    replay(letter)
    end(letter, Run.DIED, "torn")
    group = group_of(letter)
    assert (counts(group), group.deaths, group.state, group.reopenings) == ((1, 0, 0, 0, 0), 2, "active", 0)
    assert GroupTenant.objects.get(group=group).deaths == 2
    assert wrong() == []


def test_a_replay_that_dies_of_another_cause_moves_its_letter(acme: Tenant) -> None:
    letter, stays = take_in(acme, "torn"), take_in(acme, "torn")
    torn = group_of(letter)
    replay(letter)
    end(letter, Run.DIED, "wet")
    torn.refresh_from_db()
    wet = group_of(letter)
    assert wet.pk != torn.pk
    assert (counts(torn), torn.deaths, torn.sample_id) == ((1, 0, 0, 0, 0), 2, stays.pk)
    assert (counts(wet), wet.deaths, wet.tenants, wet.due_at) == ((1, 0, 0, 0, 0), 1, 1, letter.due_at)
    assert wet.first_seen_at == letter.last_died_at
    assert wrong() == []


def test_the_last_letter_that_goes_to_another_cause_leaves_a_drained_one(acme: Tenant) -> None:
    letter = take_in(acme, "torn")
    torn = group_of(letter)
    replay(letter)
    end(letter, Run.DIED, "wet")
    torn.refresh_from_db()
    assert (counts(torn), torn.state, torn.due_at, torn.sample_id) == ((0,) * 5, "drained", None, None)
    assert GroupSpan.objects.filter(group=torn, drained__gt=0).count() == 0, "nothing of it was drained"
    assert wrong() == []


def test_a_new_death_wakes_what_was_drained_and_says_so(acme: Tenant) -> None:
    """DL-08: what was discarded stays so; what comes after is new work."""
    first = [take_in(acme, "torn") for _ in range(5)]
    for letter in first:
        discard(letter)
    assert group_of(first[0]).state == "drained"
    new = [take_in(acme, "torn") for _ in range(3)]
    group = group_of(new[0])
    assert (counts(group), group.state, group.reopenings) == ((3, 0, 0, 5, 0), "active", 1)
    assert (group.reopened_from, group.reopened_at is not None) == ("drained", True)
    assert did("group.reopen") == [("drained", "active")]
    for letter in new:
        replay(letter)
    assert counts(group_of(new[0])) == (0, 3, 0, 5, 0)
    assert {each.state for each in DeadLetter.objects.filter(pk__in=[letter.pk for letter in first])} == {"discarded"}
    assert wrong() == []


def test_an_undo_opens_the_group_and_is_no_new_death(acme: Tenant) -> None:
    letter = take_in(acme, "torn")
    discard(letter)
    undo(letter)
    group = group_of(letter)
    assert (counts(group), group.state, group.due_at, group.deaths) == ((1, 0, 0, 0, 0), "active", letter.due_at, 1)
    assert (group.reopenings, group.reopened_at) == (0, None)
    assert wrong() == []


def test_the_due_time_is_that_of_the_earliest_that_is_left(acme: Tenant) -> None:
    now = timezone.now()
    letters = [take_in(acme, "torn", dead_at=now - timedelta(hours=hours)) for hours in (3, 9, 6)]
    assert group_of(letters[0]).due_at == letters[1].due_at
    discard(letters[1])
    assert group_of(letters[0]).due_at == letters[2].due_at
    discard(letters[0])
    assert group_of(letters[0]).due_at == letters[2].due_at
    undo(letters[1])
    assert group_of(letters[0]).due_at == letters[1].due_at


def test_who_moves_due_times_has_the_group_follow(acme: Tenant) -> None:
    letter = take_in(acme, "torn")
    later = letter.due_at + timedelta(hours=5)
    with transaction.atomic():
        DeadLetter.objects.filter(pk=letter.pk).update(due_at=later)
        refresh_due([letter.group_id] if letter.group_id else [])
    assert group_of(letter).due_at == later


def test_a_purge_leaves_its_number(acme: Tenant) -> None:
    letters = [take_in(acme, "torn") for _ in range(2)]
    discard(letters[1])
    purge(letters[1])
    group = group_of(letters[0])
    assert (counts(group), group.deaths, group.sample_id, group.total) == ((1, 0, 0, 0, 1), 2, letters[0].pk, 2)
    assert GroupTenant.objects.get(group=group).purged == 1
    assert wrong() == []


def test_a_letter_without_a_tenant_is_in_no_share(acme: Tenant) -> None:
    letter = take_in(None, "torn")
    group = group_of(letter)
    assert (group.open, group.tenants, group.shares.count()) == (1, 0, 0)
    discard(letter)
    assert wrong() == []


def test_a_deleted_tenant_takes_its_share_and_leaves_its_letters(acme: Tenant, globex: Tenant) -> None:
    letter, other = take_in(acme, "torn"), take_in(globex, "torn")
    acme.delete()
    assert wrong() == []
    discard(letter)
    group = group_of(other)
    assert (counts(group), group.tenants) == ((1, 0, 0, 1, 0), 2)
    assert wrong() == []


def test_a_letter_without_a_group_can_be_worked_on_all_the_same(acme: Tenant) -> None:
    letter = unsaved(acme, error="torn")
    letter.save()
    replay(letter)
    end(letter, Run.CANCELLED)
    discard(letter)
    letter.refresh_from_db()
    assert (letter.state, letter.group_id, DeadLetterGroup.objects.count()) == ("discarded", None, 0)


def test_deaths_are_counted_in_the_five_minutes_in_which_they_happened(acme: Tenant) -> None:
    at = timezone.now().replace(minute=17, second=9) - timedelta(hours=2)
    for seconds in (0, 60, 400):
        take_in(acme, "torn", dead_at=at + timedelta(seconds=seconds))
    spans = GroupSpan.objects.order_by("at").values_list("at", "deaths")
    assert list(spans) == [(span_of(at), 2), (span_of(at) + timedelta(minutes=5), 1)]
    assert span_of(at).minute == 15


def test_a_batch_costs_as_many_statements_for_many_causes_as_for_one(acme: Tenant) -> None:
    seen = []
    for causes in (1, 30):
        # The first batch makes them.
        for _ in range(2):
            batch = [unsaved(acme, error=f"torn {'ab' * (n % causes)} apart") for n in range(60)]
            with CaptureQueriesContext(connection) as queries:
                insert(batch)
        seen.append(len(queries))
    assert DeadLetterGroup.objects.count() == 30
    assert seen[0] == seen[1]
