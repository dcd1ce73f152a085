"""What died since the members were fixed: counted and shown, and not touched."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from dlq.bulk import TICKED, bulk_confirm, bulk_draft
from dlq.bulk_progress import new_since
from dlq.filters import LetterFilter
from dlq.models import BulkAction, DeadLetter, DeadLetterGroup
from dlq.replay_plan import AT_ONCE
from jobops.engine.client import Engine
from tenants.models import Membership, Tenant
from tests.dlq.letters import letters, states
from tests.dlq.replaying.many import work
from tests.runtime import factory
from tests.tenants.people import person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def replay(asked: LetterFilter, by: User | str = "command:ada", **more: Any) -> BulkAction:
    chosen = asked.apply(DeadLetter.objects.all())
    return bulk_draft(kind="replay", letters=chosen, by=by, **({"chosen": asked.as_query()} | more))


def test_those_of_the_filter_are_counted_and_left_alone(acme: Tenant) -> None:
    """DL-04, DL-14"""
    letters(acme, 10), letters(acme, 2, error_class="Other")
    bulk = replay(LetterFilter(error="ValueError"))
    later = [*letters(acme, 5), *letters(acme, 1, error_class="Other")]
    letters(acme, 1, state="resolved")
    assert new_since(bulk) == 5
    work(bulk_confirm(bulk_id=bulk.pk, by="command:ada", plan=AT_ONCE))
    assert new_since(bulk) == 5
    assert states(later) == ["open"] * 6
    assert DeadLetter.objects.filter(replays=1).count() == bulk.matched == 10


def test_of_ticked_ones_those_of_their_cause(acme: Tenant) -> None:
    cause = DeadLetterGroup.objects.create(fingerprint="a" * 64)
    letters(acme, 3, group=cause)
    bulk = replay(LetterFilter(), chosen=TICKED)
    letters(acme, 2, group=cause), letters(acme, 4)
    assert new_since(bulk) == 2
    mixed = replay(LetterFilter(), chosen=TICKED)
    letters(acme, 2, group=cause)
    assert new_since(mixed) == 0, "of several causes nobody can say"


def test_a_tenants_own_people_are_told_of_their_own_only(acme: Tenant) -> None:
    other, mia = factory.tenant("b"), person()
    Membership.objects.create(user=mia, tenant=acme, role=Membership.Role.ADMIN)
    letters(acme, 2)
    bulk = replay(LetterFilter(), mia)
    letters(acme, 1), letters(other, 7)
    assert new_since(bulk) == 1
