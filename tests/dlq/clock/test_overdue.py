"""How many letters of a group are late, and how many will be within ten minutes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.clock.overdue import Overdue, overdue, overdue_up_to
from dlq.clock.standing import Kind, group_standings
from tests.dlq.clock.clocks import group, letter
from tests.dlq.letters import unsaved
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def test_late_and_soon_are_of_undrained_letters_of_each_group() -> None:
    one, other, calm = group(), group(), group()
    for minutes, state in (
        (-1, "open"),
        (-99, "replaying"),
        (5, "open"),
        (11, "open"),
        (-1, "resolved"),
        (3, "discarded"),
    ):
        letter(group=one, state=state, due_at=NOW + timedelta(minutes=minutes))
    letter(group=other, due_at=NOW + timedelta(minutes=9))
    letter(group=calm)
    with CaptureQueriesContext(connection) as queries:
        found = overdue([one.pk, other.pk, calm.pk], NOW)
    assert len(queries) == 1
    assert found == {one.pk: Overdue(2, 1), other.pk: Overdue(0, 1)}
    with CaptureQueriesContext(connection) as queries:
        assert overdue_up_to(2, [one.pk, other.pk, calm.pk], NOW) == found
    assert len(queries) == 1
    assert overdue([other.pk], NOW) == {other.pk: Overdue(0, 1)}


def test_of_some_tenants_only_their_letters_count() -> None:
    acme, cause = new_tenant("acme"), group()
    letter(group=cause, due_at=NOW)
    unsaved(acme, group=cause, due_at=NOW).save()
    assert overdue_up_to(5, [cause.pk], NOW, [acme.pk]) == {cause.pk: Overdue(1, 0)}


def test_of_very_many_it_counts_so_far_only_and_shows_it() -> None:
    cause = group()
    for minutes in (-3, -2, -1, 0, 1, 2, 3):
        letter(group=cause, due_at=NOW + timedelta(minutes=minutes))
    late, soon = overdue_up_to(3, [cause.pk], NOW)[cause.pk]
    assert (f"{late:,}", f"{soon:,}") == ("3+", "3")
    assert overdue([cause.pk], NOW)[cause.pk] == (4, 3)


def test_a_group_stands_as_its_letter_that_is_due_first_in_one_query() -> None:
    groups = []
    for hours, sla in ((3.5, 4), (9, 4), (1, 4)):
        cause = group(first_seen_at=NOW - timedelta(days=99))
        first = letter(NOW - timedelta(hours=hours), sla, group=cause)
        letter(NOW, 48, group=cause)
        cause.due_at = first.due_at
        cause.save()
        groups.append(cause)
    drained = group()
    with CaptureQueriesContext(connection) as queries:
        found = group_standings([*groups, drained], NOW)
    assert len(queries) == 1
    assert [found[each.pk].kind for each in groups] == [Kind.WARNING, Kind.BREACHED, Kind.ON_TRACK]
    assert found[groups[0].pk].used == pytest.approx(3.5 / 4)
    assert drained.pk not in found
