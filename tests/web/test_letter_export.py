"""Dead letters as a file, by what only some lists ask for: a cause, a person, when they were drained."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from urllib.parse import quote_plus

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from dlq.models import DeadLetter
from jobops.audit.models import AuditEntry
from jobops.contracts.decorator import job
from jobops.contracts.registry import temporary_registry
from jobops.contracts.secret_values import DOTS
from tenants.models import Tenant
from tenants.roles import Role
from tests.runtime.asking import text
from tests.web.causes import cause, letter_of
from tests.web.world import World

pytestmark = pytest.mark.django_db

EVIL = "=cmd|' /C calc'!A0"


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme")


def exported(client: Client, kind: str, query: str) -> str:
    answer = client.post("/dlq/export/", {"format": kind, "query": query})
    assert answer.status_code == 200
    assert answer.streaming, "it is never in memory as a whole"
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


def ids(kind: str, told: str) -> list[int]:
    if kind == "csv":
        return [int(row["id"]) for row in csv.DictReader(io.StringIO(told))]
    return [json.loads(line)["id"] for line in told.splitlines()]


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_staff_export_a_cause_a_persons_or_nobodys_and_a_time(world: World, acme: Tenant, kind: str) -> None:
    torn, wet = cause("torn"), cause("wet")
    mine = world.person(Role.ON_CALL)
    one = letter_of(world, torn, acme, assignee=mine)
    two = letter_of(world, torn, acme, error=EVIL)
    three = letter_of(world, wet, acme)
    gone = letter_of(world, wet, acme, state="discarded", drained_at=timezone.now() - timedelta(days=2))
    client = Client()
    client.force_login(mine)
    for query, arguments, found in (
        (f"group={torn.pk}", ("--group", str(torn.pk)), [one, two]),
        (f"group={torn.pk},{wet.pk}", ("--group", f"{torn.pk},{wet.pk}"), [one, two, three]),
        ("assignee=me", ("--assignee", mine.username), [one]),
        (f"assignee=none&group={torn.pk}", ("--assignee", "none", "--group", str(torn.pk)), [two]),
        ("status=all&drained=7d", ("--drained", "7d"), [gone]),
    ):
        assert ids(kind, exported(client, kind, query)) == [each.pk for each in found], query
        assert ids(kind, text("dlq", "export", "--format", kind, *arguments)) == [each.pk for each in found], arguments
    filters = list(AuditEntry.objects.filter(action="letter.export").values_list("after__filter", flat=True))
    assert f"assignee={quote_plus(mine.username)}" in filters, "whom me stood for"
    assert "assignee=me" not in filters


def test_a_spreadsheet_finds_no_formula_in_it(world: World, acme: Tenant) -> None:
    """SE-04"""
    group = cause(EVIL)
    letter_of(world, group, acme, error=EVIL, owner=EVIL)
    query = f"group={group.pk}"
    for client in (world.client(Role.OPERATOR), world.client(Role.TENANT_VIEWER, acme)):
        row = next(csv.DictReader(io.StringIO(exported(client, "csv", query))))
        assert row["error"] == f"'{EVIL}"
        assert not [cell for cell in row.values() if cell.lstrip().startswith(("=", "+", "@"))]


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_tenants_people_get_their_own_masked_and_nothing_of_our_teams(world: World, acme: Tenant, kind: str) -> None:
    group, rival = cause(), world.tenant("rival")
    payload = json.dumps({"args": [], "kwargs": {"card": "4242-4242", "note": "x"}})
    with temporary_registry():

        @job(name="pay", redact=["card"])
        def pay(card: str, note: str) -> None: ...

        fields = {"job_type": "pay", "payload": payload, "error": "4242-4242 refused"}
        own = letter_of(world, group, acme, owner="our-payments-team", assignee=world.person(Role.ON_CALL), **fields)
        letter_of(world, group, rival, **fields)
        client = world.client(Role.TENANT_ADMIN, acme)
        told = exported(client, kind, f"group={group.pk}")
    assert ids(kind, told) == [own.pk]
    assert "4242" not in told
    assert DOTS in told
    for ours in ("our-payments-team", "assignee", "owner", "on call"):
        assert ours not in told
    # What it finds would tell whose it is.
    for query in ("assignee=none", "owner=our-payments-team"):
        answer = client.post("/dlq/export/", {"format": kind, "query": query})
        said = [str(message) for message in get_messages(answer.wsgi_request)]
        assert said[-1].startswith("Nothing was exported: the filter"), query
        assert not answer.streaming
    assert DeadLetter.objects.count() == 2
