"""``manage.py dlq purge``: drained letters only, never below the floor, and never by accident."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlq.models import DeadLetter, State
from jobops.audit.models import AuditEntry
from tenants.models import Tenant
from tests.dlq.letters import letter, letters
from tests.runtime.asking import ask, refusal, text
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme() -> Tenant:
    return new_tenant("acme")


def ago(days: float) -> dict[str, Any]:
    return {"drained_at": timezone.now() - timedelta(days=days)}


def test_it_needs_one_of_two_words(acme: Tenant) -> None:
    letter(acme, state=State.DISCARDED, **ago(400))
    for wrong in ((), ("--yes", "--dry-run")):
        code, message = refusal("dlq", "purge", *wrong)
        assert (code, "say --yes" in message, "--dry-run" in message) == (2, True, True)
    assert DeadLetter.objects.count() == 1


@pytest.mark.parametrize("age", ["6d", "0s", "167h", "soon", "-5d"])
def test_below_the_floor_it_is_refused(acme: Tenant, age: str) -> None:
    letter(acme, state=State.DISCARDED, **ago(6))
    for word in ("--yes", "--dry-run"):
        code, message = refusal("dlq", "purge", "--older-than", age, word)
        assert (code, "--older-than" in message) == (2, True)
    assert DeadLetter.objects.count() == 1


def test_what_was_drained_long_enough_ago_goes_and_the_audit_says_how_it_was_chosen(acme: Tenant) -> None:
    kept = [
        letter(acme),
        letter(acme, state=State.DISCARDED, **ago(8)),
        letter(new_tenant("b"), state="resolved", **ago(90)),
    ]
    letters(acme, 3, state=State.RESOLVED, **ago(61))
    assert ask("dlq", "purge", "--older-than", "60d", "--tenant", "acme", "--yes") == {
        "dry_run": False, "older_than": "60d", "purged": 3,
    }  # fmt: skip
    assert {each.pk for each in DeadLetter.objects.all()} == {each.pk for each in kept}
    entry = AuditEntry.objects.get(action="letter.purge")
    assert (entry.after["letters"], entry.after["filter"]) == (3, "status=all&tenant=acme")
    assert entry.actor.startswith("command:")
    assert (
        text("dlq", "purge", "--older-than", "60d", "--tenant", "acme", "--yes") == "no drained dead letter matches\n"
    )


def test_without_an_age_it_is_that_of_retention(acme: Tenant, settings: Any) -> None:
    settings.JOBOPS_RETENTION_DAYS = 45
    letter(acme, state=State.RESOLVED, **ago(44))
    letter(acme, state=State.RESOLVED, **ago(46))
    assert ask("dlq", "purge", "--yes") == {"dry_run": False, "older_than": "45d", "purged": 1}
    assert "filter" not in AuditEntry.objects.get(action="letter.purge").after


def test_an_open_one_is_never_meant(acme: Tenant) -> None:
    very_old = timezone.now() - timedelta(days=900)
    letter(acme, dead_at=very_old, due_at=very_old)
    for wrong in (("--overdue",), ("--status", "open"), ("--status", "undrained"), ("--status", "replaying")):
        code, message = refusal("dlq", "purge", *wrong, "--yes")
        assert (code, "only what is drained" in message) == (2, True), wrong
    for fine in (("--status", "all"), ("--status", "discarded"), ("--older-than", "400d"), ("--died-of", "exhausted")):
        assert ask("dlq", "purge", *fine, "--yes")["purged"] == 0
    assert DeadLetter.objects.count() == 1


def test_a_dry_run_tells_what_would_go_now_and_in_the_next_days(acme: Tenant) -> None:
    letters(acme, 2, state=State.DISCARDED, owner="payments", **ago(31))
    letter(acme, state=State.RESOLVED, owner="billing", **ago(40))
    letter(acme, state=State.RESOLVED, owner="exports", **ago(27))
    letter(acme, owner="exports")
    told = ask("dlq", "purge", "--dry-run")
    day = timezone.localdate() + timedelta(days=3)
    assert told == {
        "dry_run": True, "older_than": "30d", "matched": 3, "purged": 0, "teams": {"payments": 2, "billing": 1},
        "retention_next": [{"day": day.isoformat(), "team": "exports", "letters": 1}],
    }  # fmt: skip
    shown = text("dlq", "purge", "--dry-run")
    assert "3 would be purged: drained for more than 30d" in shown
    assert f"{day}  exports  1" in shown
    assert text("dlq", "purge", "--dry-run", "--owner", "nobody").splitlines()[:2] == [
        "0 would be purged: drained for more than 30d", "nothing",
    ]  # fmt: skip
    assert DeadLetter.objects.count() == 5
    assert not AuditEntry.objects.filter(action="letter.purge").exists()
