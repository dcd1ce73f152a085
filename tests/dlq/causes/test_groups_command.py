"""``manage.py dlq groups``: the list, the acts, and whether the counts are right."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlq.models import DeadLetter, DeadLetterGroup
from jobops.audit.models import AuditEntry
from jobops.management.base import Found
from tenants.models import Tenant
from tests.dlq.letters import letter, letters, unsaved
from tests.runtime import factory
from tests.runtime.asking import ask, refusal, text
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db
assert factory.echo


@pytest.fixture
def acme() -> Tenant:
    return new_tenant("acme")


def found(*arguments: str) -> list[str]:
    return [row["title"] for row in ask("dlq", "groups", *arguments)]


def group(**fields: Any) -> DeadLetterGroup:
    return DeadLetterGroup.objects.get(**fields)


def test_causes_are_listed_with_what_scripts_rely_on(acme: Tenant) -> None:
    letters(acme, 3, error="the page is torn")
    (row,) = ask("dlq", "groups")
    names = ("title", "job", "error_class", "state", "open", "deaths", "tenants", "owner")
    told = {name: row[name] for name in names}
    assert list(told.values()) == ["the page is torn", "tests.echo", "ValueError", "active", 3, 3, 1, "ops"]
    assert {"id", "replaying", "assignee", "due_at", "last_seen_at", "severity", "sample"} <= row.keys()
    assert "the page is torn" in text("dlq", "groups")


def test_causes_are_filtered_and_sorted(acme: Tenant) -> None:
    now = timezone.now()
    letters(acme, 3, error="the page is torn", due_at=now + timedelta(hours=2))
    letters(new_tenant("globex"), 1, error="the page is wet", due_at=now - timedelta(hours=1), error_class="shop.Wet")
    DeadLetterGroup.objects.filter(title="the page is wet").update(owner="billing", state="acknowledged")
    assert found() == ["the page is wet", "the page is torn"]
    assert found("--sort", "open") == ["the page is torn", "the page is wet"]
    assert found("--limit", "1") == ["the page is wet"]
    for arguments, titles in {
        ("--owner", "billing"): ["the page is wet"],
        ("--status", "acknowledged"): ["the page is wet"],
        ("--status", "drained"): [],
        ("--error", "Wet"): ["the page is wet"],
        ("--tenant", "globex"): ["the page is wet"],
        ("--tenant", "nobody"): [],
        ("--overdue",): ["the page is wet"],
        ("--search", "torn"): ["the page is torn"],
    }.items():
        assert found(*arguments) == titles, arguments


def test_a_cause_is_acknowledged_snoozed_noted_and_taken_up(acme: Tenant) -> None:
    letters(acme, 3, error="the page is torn")
    number = str(group().pk)
    assert ask("dlq", "groups", "ack", number, "--note", "we know")["state"] == "acknowledged"
    assert ask("dlq", "groups", "snooze", number, "--until", "2h", "--grows-by", "5")["snoozed_to_deaths"] == 8
    assert ask("dlq", "groups", "activate", number)["state"] == "active"
    assert ask("dlq", "groups", "link", number, "--ticket", "https://x.example/1")["ticket"] == "https://x.example/1"
    assert [note["text"] for note in ask("dlq", "groups", "note", number, "mended")["notes"]] == ["mended", "we know"]
    shown = text("dlq", "groups", "show", number)
    assert not shown.startswith("{")
    assert "title              the page is torn\n" in shown
    assert "mended" in shown
    actors = set(AuditEntry.objects.filter(target_kind="group").values_list("actor_kind", flat=True))
    assert actors == {"command"}


def test_json_may_be_asked_for_before_the_action(acme: Tenant) -> None:
    letters(acme, 1, error="the page is torn")
    number = str(group().pk)
    assert text("dlq", "groups", "--json", "show", number).startswith("{")
    assert text("dlq", "groups", "show", number, "--json").startswith("{")


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["show", "77"], 1, "there is none of this number"),
    (["ack", "77"], 1, "there is none of this number"),
    (["ack", "x"], 2, "must be a whole number"),
    (["snooze", "1"], 2, "say until when"),
    (["snooze", "1", "--until", "yesterday"], 2, "an ISO time"),
    (["snooze", "1", "--grows-by", "0"], 2, "must be a whole number"),
    (["link", "1", "--ticket", "javascript:alert(1)"], 2, "--ticket: must be a web address"),
    (["--check", "--repair"], 2, "not allowed"),
    (["--status", "lost"], 2, "invalid choice"),
    (["--state", "lost"], 2, "--status"),
])  # fmt: skip
def test_what_cannot_be_meant_is_refused_in_one_line(acme: Tenant, arguments: list[str], code: int, said: str) -> None:
    letters(acme, 1, error="the page is torn")
    number = str(group().pk)
    arguments = [number if each == "1" else each for each in arguments]
    got, line = refusal("dlq", "groups", *arguments)
    assert (got, said in line) == (code, True), line


def test_what_is_drained_cannot_be_acknowledged(acme: Tenant) -> None:
    letter(acme, error="the page is torn", state="discarded", drained_at=timezone.now())
    code, line = refusal("dlq", "groups", "ack", str(group().pk))
    assert (code, "it is drained" in line) == (1, True)


def test_counts_are_proved_and_put_right(acme: Tenant) -> None:
    letters(acme, 3, error="the page is torn")
    assert text("dlq", "groups", "--check").strip() == "all counts are right"
    DeadLetterGroup.objects.update(open=9)
    unsaved(acme, error="the page is wet").save()
    code, line = refusal("dlq", "groups", "--check")
    assert code == Found.code
    assert "1 count is not right" in line
    assert "1 letter has no cause yet" in line
    assert [(row["what"], row["counted"], row["right"]) for row in ask("dlq", "groups", "--repair")] == [("open", 9, 3)]
    assert ask("dlq", "groups", "--check") == []
    assert not DeadLetter.objects.filter(group__isnull=True).exists()
    assert text("dlq", "groups", "--repair").strip() == "all counts are right"
