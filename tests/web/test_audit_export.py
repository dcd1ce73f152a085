"""The export of the audit: for superusers, streamed, and in the audit itself."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.test import Client

from jobops.audit import reading, recording
from jobops.audit.models import AuditEntry
from jobops.audit.recording import Change
from tenants.roles import Role
from tests.web.world import World


@pytest.fixture
def root(world: World) -> Client:
    client = world.client(Role.SUPERUSER)
    for number in range(7):
        recording.record("ada", Change("letter.replay", "letter", number, None, "acme", reason="=1+1"))
    recording.record("command:root", Change("tenant.set", "tenant", "acme", None, "acme"))
    return client


def export(client: Client, style: str, query: str = "") -> str:
    answer = client.post(f"/audit/export/{query}", {"format": style})
    assert answer.status_code == 200
    assert answer.streaming
    assert f".{style}" in answer["Content-Disposition"]
    return b"".join(answer.streaming_content).decode()


def test_json_lines_hold_every_row_the_oldest_first(root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", 3)
    lines = [json.loads(line) for line in export(root, "jsonl").splitlines()]
    assert [line["target_id"] for line in lines] == [*map(str, range(7)), "acme"]
    assert {line["tenant"] for line in lines} == {"acme"}


def test_the_filter_of_the_page_holds_for_the_export(root: Client) -> None:
    lines = [json.loads(line) for line in export(root, "jsonl", "?who=root").splitlines()]
    assert [line["action"] for line in lines] == ["tenant.set"]


def test_csv_holds_no_formula(root: Client) -> None:
    heading, *rows = csv.reader(io.StringIO(export(root, "csv")))
    assert heading[:3] == ["id", "at", "actor"]
    assert {row[heading.index("reason")] for row in rows} == {"'=1+1", ""}


def test_an_export_is_in_the_audit_and_not_in_itself(root: Client) -> None:
    assert "audit.export" not in export(root, "csv", "?who=ada")
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.actor_kind) == ("audit.export", "person")
    assert entry.after["filter"] == "?who=ada"
    assert entry.after["format"] == "csv"
    assert "audit.export" in export(root, "jsonl")


def test_what_is_changed_while_it_is_read_stays_out(root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", 3)
    answer = root.post("/audit/export/", {"format": "jsonl"})
    lines = iter(answer.streaming_content)
    first = next(lines)
    recording.record("ada", Change("letter.undo", "letter", "late"))
    rest = b"".join(lines)
    assert b'"target_id": "0"' in first
    assert b"late" not in rest


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ON_CALL])
def test_others_see_the_button_with_the_reason_and_are_refused(world: World, root: Client, role: Role) -> None:
    client = world.client(role)
    before = AuditEntry.objects.count()
    text = client.get("/audit/").content.decode()
    assert f"As {role} you may not export the audit." in text
    assert 'aria-disabled="true"' in text
    assert client.post("/audit/export/", {"format": "csv"}).status_code == 403
    assert AuditEntry.objects.count() == before
