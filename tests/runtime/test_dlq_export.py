"""``manage.py dlq export``: masked, whole files only, and no formula for a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from dlq.export import COLUMNS, as_csv, as_jsonl, rows
from dlq.models import DeadLetter, State
from jobops.audit.models import AuditEntry
from jobops.contracts.decorator import job
from jobops.contracts.registry import temporary_registry
from jobops.contracts.secret_values import DOTS
from tests.dlq.letters import letter, letters
from tests.runtime.asking import refusal, text
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db

EVIL = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =cmd|' /C calc'!A0", "\uff1d1")


def test_every_row_is_one_json_object_with_the_keys_of_the_list() -> None:
    acme = new_tenant("acme")
    one, two = letter(acme, error="a\nb"), letter(acme, state=State.DISCARDED, discard_reason="old")
    lines = text("dlq", "export", "--status", "all").splitlines()
    found = [json.loads(line) for line in lines]
    assert [row["id"] for row in found] == [one.pk, two.pk]
    assert set(found[0]) == set(COLUMNS)
    assert (found[0]["error"], found[1]["discard_reason"]) == ("a\nb", "old")
    assert found[0]["due_at"].endswith("Z")
    replaying = letter(acme, state=State.REPLAYING)
    undrained = [json.loads(line)["id"] for line in text("dlq", "export").splitlines()]
    assert undrained == [one.pk, replaying.pk], "as on the page"
    assert len(text("dlq", "export", "--status", "open").splitlines()) == 1


def test_what_is_secret_is_masked() -> None:
    """SE-06"""
    payload = json.dumps({"args": [], "kwargs": {"card": "4242-4242", "note": "x"}})
    with temporary_registry():

        @job(name="pay", redact=["card"])
        def pay(card: str, note: str) -> None: ...

        letter(None, job_type="pay", payload=payload, error="4242-4242 refused")
        for form in ("jsonl", "csv"):
            told = text("dlq", "export", "--format", form)
            assert "4242" not in told
            assert f"{DOTS} refused" in told


def test_no_cell_is_a_formula() -> None:
    acme = new_tenant("acme")
    for evil in EVIL:
        letter(acme, error=evil, owner=evil.strip() or "x")
    letter(acme, error="calm = 1", owner='"quoted"\r\nline')
    table = list(csv.DictReader(io.StringIO(text("dlq", "export", "--format", "csv"))))
    assert [row["error"] for row in table] == [f"'{evil}" for evil in EVIL] + ["calm = 1"]
    for row in table:
        for value in row.values():
            assert not (value or "").lstrip().startswith(("=", "+", "-", "@"))
    assert list(json.loads(table[0]["arguments"])) == ["value"]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_lone_surrogate_ends_no_export(form: str, tmp_path: Path) -> None:
    """PX-01, DL-11: it is one character of one letter, and the others come after it."""
    odd = '{"args": [], "kwargs": {"value": "\\ud800x", "\\udfff": {"a\\udc00": "\\u202e"}}}'
    letter(None, payload=odd)
    letter(None)
    path = tmp_path / "out"
    text("dlq", "export", "--format", form, "--output", str(path))
    told = path.read_bytes().decode()
    assert told == text("dlq", "export", "--format", form)
    if form == "csv":
        found = [json.loads(row["arguments"]) for row in csv.DictReader(io.StringIO(told))]
    else:
        found = [json.loads(line)["arguments"] for line in told.splitlines()]
    arguments, other = found
    assert other == {"value": 1}
    assert arguments["value"] == "\ud800x"
    assert arguments["\udfff"] == {"a\udc00": "\u202e"}


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letters(new_tenant("acme"), 3)
    path = tmp_path / "out.jsonl"
    assert text("dlq", "export", "--output", str(path)) == f"written to {path}\n"
    assert len(path.read_text().splitlines()) == 3
    path.write_text("precious")
    for bad in (tmp_path, tmp_path / "no" / "such" / "place", Path("/proc/nothing")):
        code, message = refusal("dlq", "export", "--output", str(bad))
        assert (code, message.startswith("--output: ")) == (1, True)

    def breaks(value: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dlq.export.instant", breaks)
    assert "No space left" in refusal("dlq", "export", "--output", str(path))[1]
    assert path.read_text() == "precious"
    assert [each.name for each in tmp_path.iterdir()] == ["out.jsonl"]


def test_an_export_is_in_the_audit() -> None:
    letter(new_tenant("acme"))
    text("dlq", "export", "--tenant", "acme", "--format", "csv")
    row = AuditEntry.objects.get(action="letter.export")
    assert row.after == {"filter": "tenant=acme", "format": "csv"}
    assert row.actor_kind == "command"
    for arguments, told in {
        (): "all to be drained", ("--overdue",): "overdue=1", ("--status", "all"): "status=all",
    }.items():  # fmt: skip
        text("dlq", "export", *arguments)
        assert AuditEntry.objects.latest("id").after["filter"] == told


def test_a_long_export_has_every_letter_once_and_begins_before_it_is_read() -> None:
    """DL-11"""
    some = letters(new_tenant("acme"), 1_200)
    made = as_jsonl(rows(DeadLetter.objects.all()))
    first = json.loads(next(made))
    assert [first["id"], *(json.loads(line)["id"] for line in made)] == [each.pk for each in some]
    assert sum(1 for _ in as_csv(rows(DeadLetter.objects.all()))) == 1 + 1_200
