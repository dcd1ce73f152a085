"""The undo of a discard of many opens what that discard has closed, and nothing that was discarded anew."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from dlq.bulk import bulk_cancel, bulk_confirm, bulk_draft, bulk_undo
from dlq.bulk_run import DISCARDED_ANEW, run_batch
from dlq.models import BulkAction, DeadLetter
from dlq.services import letter_discard, letter_undo
from tenants.models import Tenant
from tests.dlq.letters import letters, states
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme() -> Tenant:
    return new_tenant("acme")


def running(some: list[DeadLetter], by: str = "command:ada", reason: str = "r") -> BulkAction:
    chosen = DeadLetter.objects.filter(pk__in=[each.pk for each in some])
    bulk = bulk_draft(kind="discard", letters=chosen, by=by, chosen="ticked", reason=reason)
    return bulk_confirm(bulk_id=bulk.pk, by=by)


def singly(letter: DeadLetter) -> None:
    letter_discard(letter_id=letter.pk, by="command:bob", reason="a duplicate")


def with_others(letter: DeadLetter) -> None:
    run_batch(running([letter], "command:bob", "a duplicate").pk)


@pytest.mark.parametrize("anew", [singly, with_others])
@pytest.mark.parametrize("stop", [True, False])
def test_what_was_discarded_anew_while_it_ran_stays_so(
    acme: Tenant, anew: Callable[[DeadLetter], None], stop: bool
) -> None:
    """It had closed the first one, somebody opened that and discarded it for another reason; only then it ended."""
    some = list(letters(acme, 3))
    bulk = running(some)
    assert run_batch(bulk.pk, size=2) == 2
    letter_undo(letter_id=some[0].pk, by="command:bob")
    anew(some[0])
    if stop:
        bulk_cancel(bulk_id=bulk.pk, by="command:ada")
    else:
        run_batch(bulk.pk)
    undo = bulk_undo(bulk_id=bulk.pk, by="command:ada")
    run_batch(undo.pk)
    undo.refresh_from_db()
    assert (undo.done, undo.skipped_for) == (1 if stop else 2, {DISCARDED_ANEW: 1})
    assert states(some) == ["discarded", "open", "open"]
    assert DeadLetter.objects.get(pk=some[0].pk).discard_reason == "a duplicate"


def test_who_discards_a_letter_alone_leaves_no_mark_of_an_earlier_action(acme: Tenant) -> None:
    [one] = letters(acme, 1)
    bulk = running([one])
    run_batch(bulk.pk)
    one.refresh_from_db()
    assert one.discarded_in == bulk
    assert letter_undo(letter_id=one.pk, by="command:bob").discarded_in is None
    singly(one)
    one.refresh_from_db()
    assert one.discarded_in is None


def test_discards_of_before_can_be_undone_too(acme: Tenant) -> None:
    """As the migration finds them: discarded by an action, by one of two, alone, and anew since."""
    some = list(letters(acme, 5))
    first, second = running(some[:2]), running(some[1:3], "command:bob", "other")
    run_batch(first.pk, size=1), run_batch(second.pk), run_batch(first.pk)
    singly(some[3])
    last = running(some[4:])
    run_batch(last.pk)
    letter_undo(letter_id=some[4].pk, by="command:bob")
    singly(some[4])
    marks = DeadLetter.objects.order_by("pk").values_list("discarded_in", flat=True)
    expected = [first.pk, second.pk, second.pk, None, None]
    assert list(marks) == expected
    DeadLetter.objects.update(discarded_in=None)
    import_module("dlq.migrations.0003_discarded_in").fill(apps, SimpleNamespace(connection=connection))
    assert list(marks) == expected
