"""``manage.py redirects`` and ``dlq replay --edit``: exit codes, one line for a fault, the keys of the JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from dlq.models import DeadLetter, DeadLetterGroup, Redirect, ReplayRun
from jobops.audit.models import AuditEntry
from jobops.contracts.decorator import job
from jobops.contracts.registry import temporary_registry
from jobops.contracts.secret_values import DOTS
from jobops.engine.client import Engine
from jobops.management.base import Refused, Usage
from tenants.models import Tenant
from tests.dlq.letters import letter

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    with temporary_registry():

        @job(name="billing.capture", owner="b", drain_sla="1h", idempotent="yes", redact=["card"])
        def capture(number: int, card: str = "") -> None: ...

        yield


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def said(*args: str) -> str:
    out = StringIO()
    call_command(*args, stdout=out)
    return out.getvalue()


def ask(*args: str) -> Any:
    return json.loads(said(*args, "--json"))


def dead(acme: Tenant, job_type: str = "billing.capture") -> DeadLetter:
    return letter(acme, job_type=job_type, payload='{"args": [], "kwargs": {"number": 7, "card": "4242-4242"}}')


def refused(kind: type[Exception], *args: str) -> str:
    with pytest.raises(kind) as refusal:
        call_command(*args, stdout=StringIO())
    return str(refusal.value)


def test_redirects_are_added_listed_and_removed(acme: Tenant) -> None:
    found = dead(acme, "pay.old")
    assert said("redirects", "list") == "no redirects: every dead letter is replayed as what it is\n"
    told = ask("redirects", "add", "pay.old", "billing.capture", "--dry-run")
    assert (told["open"], told["fit"], told["unfit"], told["dry_run"]) == (1, 1, {}, True)
    assert not Redirect.objects.exists()
    assert "its arguments fit 1" in said("redirects", "add", "pay.old", "billing.capture", "--note", "May")
    rows = ask("redirects", "list")
    assert [(row["from"], row["to"], row["works"], row["note"]) for row in rows] == [
        ("pay.old", "billing.capture", True, "May")
    ]
    report = ask("dlq", "replay", str(found.pk))
    assert report["done"] == 1
    assert said("redirects", "remove", "pay.old") == "removed: pay.old is led nowhere any more\n"
    assert "there is no redirect of 'pay.old'" in refused(Refused, "redirects", "remove", "pay.old")


def test_what_is_no_redirect_is_refused_with_where_it_was_typed() -> None:
    line = refused(Refused, "redirects", "add", "pay.old", "os.system")
    assert line == "TO: os.system is not registered; choose a registered job type"
    assert refused(Refused, "redirects", "add", "billing.capture", "billing.capture").startswith(
        "FROM: billing.capture is"
    )
    assert refused(Usage, "redirects", "add", "pay.old").startswith(
        "redirects add: the following arguments are required: TO"
    )


def test_one_letter_is_replayed_with_other_arguments(acme: Tenant) -> None:
    found = dead(acme)
    told = ask("dlq", "replay", str(found.pk), "--edit", '{"number": 8, "card": "5555-1111"}', "--dry-run")
    assert (told["done"], told["changed"], told["dry_run"]) == (0, ["number", "card"], True)
    assert told["changes"] == [
        {"argument": "number", "original": "7", "edited": "8", "masked": False},
        {"argument": "card", "original": DOTS, "edited": DOTS, "masked": True},
    ]
    assert not ReplayRun.objects.exists()
    text = said("dlq", "replay", str(found.pk), "--edit", '{"number": 8}')
    assert f"replayed: {found.pk}, with these arguments, once" in text
    assert json.loads(ReplayRun.objects.get().payload)["kwargs"] == {"number": 8, "card": "4242-4242"}
    assert ask("dlq", "show", str(found.pk))["runs"][0]["edited"] is True
    assert "already being replayed" in refused(Refused, "dlq", "replay", str(found.pk), "--edit", '{"number": 9}')


@pytest.mark.parametrize(
    ("kind", "args", "line"),
    [
        (Refused, ["--edit", '{"func": "os.system"}'], "--edit: func: is no argument of billing.capture"),
        (Refused, ["--edit", '{"number": 7}'], "--edit: arguments: nothing is changed"),
        (Refused, ["--edit", '{"number": {"$decimal": 1}}'], "--edit: number: $decimal must be text"),
        (Usage, ["--edit", "number=8"], "--edit: is no JSON"),
        (Usage, ["--edit", "[8]"], "--edit: must be an object"),
        (Usage, ["--edit", "{}", "--rate", "5/s"], "--edit: one letter is sent at once"),
        (Usage, ["--edit", "{}", "--tenant", "acme"], "--edit: takes one letter by its name"),
    ],
)
def test_what_is_wrong_is_one_line(acme: Tenant, kind: type[Exception], args: list[str], line: str) -> None:
    found = dead(acme)
    assert line in refused(kind, "dlq", "replay", str(found.pk), *args)
    found.refresh_from_db()
    assert (found.state, ReplayRun.objects.count()) == ("open", 0)
    strange = AuditEntry.objects.filter(action="letter.edit_refused")
    assert strange.count() == int("os.system" in str(args)), "SE-10: refused and recorded"


def test_an_old_name_that_no_dead_letter_has_is_doubted(acme: Tenant) -> None:
    dead(acme, "pay.old")
    DeadLetterGroup.objects.create(fingerprint="a" * 64, title="x", job_type="pay.old")
    for old, doubted in (("pay.old", False), ("old name!", True)):
        told = StringIO()
        call_command("redirects", "add", old, "billing.capture", stdout=StringIO(), stderr=told)
        assert ("warning: no dead letter was ever of this type" in told.getvalue()) == doubted, old
