"""Job types with owners, teams, and letters that died of one cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from dlq.causes.counting import attach, count_new
from dlq.models import DeadLetter, DeadLetterGroup
from dlq.owners.deciding import decide
from jobops.contracts.registry import temporary_registry
from tenants.models import Team, TeamMember, Tenant
from tenants.roles import Role
from tests.contracts.catalogs import declare
from tests.dlq.letters import unsaved
from tests.tenants.people import new_tenant, person


@pytest.fixture(autouse=True)
def contracts() -> Iterator[None]:
    """``billing.send`` is payments' for four hours, ``mail.send`` is mail's for two days."""
    with temporary_registry():
        declare(name="billing.send", owner="payments", drain_sla="4h")
        declare(name="mail.send", owner="mail", drain_sla="2d")
        yield


@pytest.fixture
def teams(db: None) -> None:
    member = person(name="night")
    for name in ("payments", "mail", "operations", "imports"):
        TeamMember.objects.create(team=Team.objects.create(name=name), user=member)


@pytest.fixture
def acme(db: None) -> Tenant:
    return new_tenant("acme")


@pytest.fixture
def ada(db: None) -> User:
    return person(Role.OPERATOR, name="ada")


@pytest.fixture
def bob(db: None) -> User:
    return person(Role.ON_CALL, name="bob")


def die(tenant: Tenant | None, count: int = 1, **fields: Any) -> list[DeadLetter]:
    """Letters as the intake makes them: of one cause, unless the fields say otherwise."""
    values: dict[str, Any] = {"job_type": "billing.send", "queue": f"{tenant.slug if tenant else 'x'}.bulk"}
    letters = [unsaved(tenant, **(values | fields)) for _ in range(count)]
    with transaction.atomic():
        attach(letters)
        decide(letters)
        DeadLetter.objects.bulk_create(letters, batch_size=500)
        count_new(letters)
    return letters


def group_of(letter: DeadLetter) -> DeadLetterGroup:
    assert letter.group_id is not None
    return DeadLetterGroup.objects.get(pk=letter.group_id)


def owners(letters: list[DeadLetter]) -> list[str]:
    """Whose they are now, in the order given."""
    found = dict(DeadLetter.objects.filter(pk__in=[each.pk for each in letters]).values_list("pk", "owner"))
    return [found[each.pk] for each in letters]
