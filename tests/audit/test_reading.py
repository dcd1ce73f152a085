"""Finding rows of the audit: filters, order, pages, export."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from jobops.audit import filters, reading, recording
from jobops.audit.exporting import COLUMNS, as_csv, as_jsonl
from jobops.audit.filters import AuditFilter
from jobops.audit.models import AuditEntry
from jobops.audit.recording import Change

pytestmark = pytest.mark.django_db


def add(action: str = "tenant.set", by: str = "ada", target: str = "acme", **fields: object) -> AuditEntry:
    recording.record(by, Change(action, action.partition(".")[0], target, **fields))  # type: ignore[arg-type]
    return AuditEntry.objects.latest("id")


def found(wanted: AuditFilter, tenant_ids: tuple[int, ...] = ()) -> list[int]:
    return [entry.pk for entry in reading.newest(reading.narrowed(AuditEntry.objects.all(), wanted, tenant_ids), 50)]


def test_each_filter_finds_its_rows_and_no_others() -> None:
    with recording.request("r-1"):
        one = add("letter.replay", "ada", "5", tenant_id=1, tenant_slug="acme")
    two = add("letter.discard", "command:root", "6", tenant_id=2, tenant_slug="rival")
    three = add("tenant.set", "scheduler", "acme", tenant_slug="acme")
    assert found(AuditFilter()) == [three.pk, two.pk, one.pk]
    assert found(AuditFilter(who="ada")) == [one.pk]
    assert found(AuditFilter(who="root")) == found(AuditFilter(who="command:root")) == [two.pk]
    assert found(AuditFilter(what="letter")) == [two.pk, one.pk]
    assert found(AuditFilter(what="letter.discard")) == [two.pk]
    assert found(AuditFilter(target="letter 5")) == found(AuditFilter(target="letter:5")) == [one.pk]
    assert found(AuditFilter(request="r-1")) == [one.pk]
    assert found(AuditFilter(tenant="acme"), (1,)) == [three.pk, one.pk]
    assert found(AuditFilter(tenant="acme", who="ada"), (1,)) == [one.pk]
    assert found(AuditFilter(what="lett")) == []


def test_times_bound_what_is_found() -> None:
    old, new = add(target="old"), add(target="new")
    AuditEntry.objects.filter(pk=old.pk)._raw_delete("default")
    old = AuditEntry.objects.create(
        at=timezone.now() - timedelta(hours=3), actor="ada", actor_kind="person", action="x.y", target_kind="job",
        target_id="1",
    )  # fmt: skip
    assert found(AuditFilter(since="2h")) == [new.pk]
    assert found(AuditFilter(until="2h")) == [old.pk]
    assert found(AuditFilter(since="4h", until="1h")) == [old.pk]
    assert found(AuditFilter(since="2020-01-01", until="2020-01-02 03:00")) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("since", "soon"),
        ("since", "2026-13-45"),
        ("until", "9999-12-31T23:59"),
        ("since", "99999999999d"),
        ("target", "letter"),
        ("target", "; drop table"),
        ("what", "letter.*"),
        ("what", "a.b.c"),
    ],
)
def test_what_is_no_filter_is_passed_over_and_said(name: str, text: str) -> None:
    """HX-07."""
    wanted, faults = filters.parse({name: text, "who": "ada"})
    assert wanted == AuditFilter(who="ada")
    assert list(faults) == [name]


@pytest.mark.parametrize("text", ["\0", "a\0b", "x" * 5_000, "' OR 1=1 --", "%00", "\ud800"])
@pytest.mark.parametrize("name", sorted(AuditFilter.__dataclass_fields__))
def test_no_value_breaks_a_search(name: str, text: str) -> None:
    add()
    wanted, _faults = filters.parse({name: text})
    found(wanted, (1,))


def test_a_filter_is_its_query_string() -> None:
    wanted = AuditFilter(who="ada & co", what="letter", since="2h")
    assert wanted.as_query() == "?who=ada+%26+co&what=letter&since=2h"
    assert wanted.as_query(what="") == "?who=ada+%26+co&since=2h"
    assert AuditFilter().as_query() == ""


def test_a_walk_meets_every_row_once_the_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", 3)
    ids = [add(by=("ada", "command:ada")[number % 2]).pk for number in range(10)]
    parts = reading.narrowed(AuditEntry.objects.all(), AuditFilter(who="ada"))
    assert [entry.pk for entry in reading.walk(parts)] == ids


def test_lines_hold_all_columns_and_no_formula() -> None:
    evil = add(by="=cmd()", target=" +1", reason="@SUM(A1)", after={"cap": 2})
    (line,) = as_jsonl([evil])
    assert json.loads(line) | {"at": ""} == {
        "id": evil.pk, "at": "", "actor": "=cmd()", "actor_kind": "system", "action": "tenant.set",
        "target_kind": "tenant", "target_id": " +1", "tenant": "", "before": {}, "after": {"cap": 2},
        "reason": "@SUM(A1)", "request_id": "",
    }  # fmt: skip
    heading, row = csv.reader(io.StringIO("".join(as_csv([evil]))))
    assert tuple(heading) == COLUMNS
    cells = dict(zip(heading, row, strict=True))
    assert (cells["actor"], cells["target_id"], cells["reason"]) == ("'=cmd()", "' +1", "'@SUM(A1)")
    assert cells["after"] == '{"cap": 2}'
