"""The audit's words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

from jobops.audit.models import AuditEntry
from jobops.web import audit_words
from jobops.web.audit_words import DONE, Changed, audit_title, changes_of, done_words, who_words


def entry(action: str, target: str = "5", **fields: str) -> AuditEntry:
    return AuditEntry(action=action, target_kind=action.partition(".")[0], target_id=target, **fields)


def test_what_was_done_is_a_sentence_around_its_target() -> None:
    assert done_words(entry("letter.replay")) == ("replayed dead letter ", "5", "")
    assert done_words(entry("user.set", "mia")) == ("changed what ", "mia", " may do")
    assert done_words(entry("audit.export", "export")) == ("exported the audit", "", "")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("run.mend", ("mended run ", "5", "")),
        ("thing.turn_over", ("turn over of thing ", "5", "")),
        ("odd", ("odd of odd ", "5", "")),
        ("", (" of  ", "5", "")),
    ],
)
def test_an_action_that_nobody_described_is_spelled_out(action: str, words: tuple[str, str, str]) -> None:
    assert done_words(entry(action)) == words


def test_every_action_in_the_code_has_its_words() -> None:
    root = Path(settings.BASE_DIR)
    files = [file for app in ("jobops", "dlq", "tenants") for file in (root / app).rglob("*.py")]
    code = "".join(file.read_text() for file in files if file.name != "audit_words.py")
    found = set(
        re.findall(r'(?:Change|_record|_change|record_tenant|record)\(\s*(?:[\w.]+,\s*)?"([a-z_]+\.[a-z_]+)"', code)
    )
    assert len(found) >= 15
    assert found - set(DONE) == set()


def test_what_changed_is_told_field_by_field() -> None:
    before = {"cap": 5, "lane_caps": {}, "groups": ["a", "b"], "paused": False, "name": "", "gone": "x"}
    after = {"cap": None, "lane_caps": {"bulk": 3}, "groups": [], "paused": True, "name": "Acme", "new": 1}
    assert changes_of(before, after) == [
        Changed("cap", "5", "none"),
        Changed("lane caps", "{}", '{"bulk": 3}'),
        Changed("groups", "a, b", "none"),
        Changed("paused", "no", "yes"),
        Changed("name", "none", "Acme"),
        Changed("gone", "x", None),
        Changed("new", None, "1"),
    ]
    assert len(changes_of({}, {"x": "y" * 10_000})[0].now or "") == audit_words.LONGEST_SHOWN


@pytest.mark.parametrize(
    ("actor", "kind", "for_staff", "for_tenant", "by_staff"),
    [
        ("olga", "person", "olga", "our team (olga)", True),
        ("mia", "person", "mia", "mia", False),
        ("command:root", "command", "command:root", "our team", False),
        ("scheduler", "system", "scheduler, by itself", "by itself", False),
    ],
)
def test_who_it_was(actor: str, kind: str, for_staff: str, for_tenant: str, by_staff: bool) -> None:
    row = AuditEntry(actor=actor, actor_kind=kind)
    assert who_words(row, staff=True, by_staff=by_staff) == for_staff
    assert who_words(row, staff=False, by_staff=by_staff) == for_tenant


@pytest.mark.parametrize(
    ("count", "people", "title"),
    [
        (0, 0, "Nothing was changed in the last 24 hours."),
        (1, 1, "1 change in the last 24 hours."),
        (12, 12, "12 changes in the last 24 hours, all by people."),
        (12, 0, "12 changes in the last 24 hours, none by a person."),
        (1_204, 3, "1,204 changes in the last 24 hours, 3 of them by people."),
        (10_001, 3, "More than 10,000 changes in the last 24 hours, 3 of them by people."),
    ],
)
def test_the_title_is_a_sentence(count: int, people: int, title: str) -> None:
    assert audit_title(count, people) == title
