"""The audit's words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from dlq.bulk_records import ALL
from jobops.audit.changes import LONGEST_SHOWN, Changed, changes_of, in_one_line
from jobops.audit.models import AuditEntry
from jobops.web import audit_own_words as own
from jobops.web.audit_filter_words import action_words, filter_fields
from jobops.web.audit_words import DONE, audit_title, changes_in, done_words, who_words


def entry(action: str, target: str = "5", **fields: Any) -> AuditEntry:
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
        Changed("lane caps", "none", "bulk 3"),
        Changed("groups", "a, b", "none"),
        Changed("paused", "no", "yes"),
        Changed("name", "none", "Acme"),
        Changed("gone", "x", None),
        Changed("new", None, "1"),
    ]
    assert len(changes_of({}, {"x": "y" * 10_000})[0].now or "") == LONGEST_SHOWN
    assert in_one_line(changes_of({"cap": 5, "old": 1}, {"cap": 6})) == "cap 5 → 6, old 1, gone"


def test_instants_are_told_as_people_read_them_and_a_group_is_a_cause() -> None:
    paused = entry(
        "group.clock_pause", before={"until": "2026-11-30T17:57:11.203713+00:00"}, after={"until": None, "group": 3}
    )
    assert in_one_line(changes_in(paused)) == "until Mon 30 Nov 2026, 17:57:11 UTC → none, cause 3"
    assert done_words(paused) == ("paused the drain clocks of cause ", "5", "")
    own = entry("letter.replay", after={"note": "2026-11-30T17:57:11+00:00", "ends_at": "soon", "since": "2026-11-30"})
    assert in_one_line(changes_in(own)) == "note 2026-11-30T17:57:11+00:00, ends at soon, since 2026-11-30"


def test_no_sentence_about_dead_letters_calls_a_cause_a_group() -> None:
    accounts = {"group.create", "group.set", "group.delete"}
    assert [text for action, text in DONE.items() if "group" in text and action not in accounts] == []


def test_of_a_new_tenant_only_what_is_unlike_others_is_told() -> None:
    facts = {
        "name": "acme", "weight": 4.0, "cap": 2, "lane_caps": {}, "depth_limit": 5000, "intake_closed": False,
        "paused": False, "may_pause": False, "may_replay": True,
    }  # fmt: skip
    made = changes_in(entry("tenant.create", "acme", after=facts))
    assert in_one_line(made) == "weight 4, cap 2, depth limit 5,000, may replay yes"
    usual = facts | {"weight": 1.0, "cap": 10, "depth_limit": None, "may_replay": False}
    assert changes_in(entry("tenant.create", "acme", after=usual)) == []
    assert in_one_line(changes_in(entry("user.create", "mia", after={"groups": [], "done": 0}))) == "done 0"


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ("", "all that were to be drained"),
        (ALL, "all that were to be drained"),
        ("ticked", "ticked"),
        ("discard 5", "discard 5"),
        ("status=open&job=acme.send&overdue=1", "State Open, Job acme.send, Overdue"),
    ],
)
def test_how_letters_were_chosen_is_told_in_words(chosen: str, words: str) -> None:
    (change,) = changes_in(entry("bulk.confirm", after={"chosen": chosen}))
    assert (change.name, change.now) == ("chosen", words)


@pytest.mark.parametrize(
    ("actor", "kind", "for_staff", "for_tenant", "by_staff"),
    [
        ("olga", "person", "olga", "Our team", True),
        ("mia", "person", "mia", "mia", False),
        ("command:root", "command", "command:root", "Our team", False),
        ("scheduler", "system", "scheduler, by itself", "By itself", False),
    ],
)
def test_who_it_was(actor: str, kind: str, for_staff: str, for_tenant: str, by_staff: bool) -> None:
    row = AuditEntry(actor=actor, actor_kind=kind)
    assert who_words(row) == for_staff
    assert own.who_words(row, by_staff=by_staff) == for_tenant


def test_a_tenants_people_read_the_words_of_their_other_pages() -> None:
    types = {"5": "shop.jobs.send_invoice"}
    told = {
        "letter.replay": ("tried ", "Send invoice", " again"),
        "letter.resolve": ("", "Send invoice", " worked when it was tried again"),
        "letter.reopen": ("the new try of ", "Send invoice", " did not take place"),
        "tenant.set": ("changed ", "5", ""),
        "demo.mend": ("changed something", "", ""),
        "bulk.draft": ("changed something", "", ""),
    }
    for action, words in told.items():
        assert own.done_words(entry(action), types) == words, action
    over = entry("letter.resolve", after={"replay": "discarded"})
    assert own.done_words(over, {}) == ("", "a job", " is over: nothing was left to do")
    died = entry("letter.reopen", after={"replay": "died"})
    assert own.done_words(died, {}) == ("", "a job", " did not work when it was tried again")
    bulk = {"kind": "undo", "matched": 3, "chosen": "ticked", "state": "running", "done": 2, "skipped": 0}
    assert own.done_words(entry("bulk.confirm", after=bulk), {}) == ("began to take ", "3 jobs", " back")
    assert own.done_words(entry("bulk.finish", after=bulk), {}) == ("took ", "2 jobs", " back")
    assert in_one_line(own.changes_in(entry("bulk.finish", after=bulk))) == "done 2"


def test_a_tenants_people_read_of_fields_that_they_know() -> None:
    gone = entry("letter.discard", before={"state": "open"}, after={"state": "discarded", "job": "a-1", "bulk": 4})
    assert own.changes_in(gone) == [Changed("", "did not work", "given up")]
    limits = entry("tenant.set", before={"cap": 5, "weight": 1, "lane_caps": {}}, after={"cap": 6, "weight": 2})
    assert own.changes_in(limits) == [Changed("running at once, at most", "5", "6")]
    closed = entry("tenant.pause", before={"intake_closed": False}, after={"intake_closed": True})
    assert own.changes_in(closed) == [Changed("takes new jobs", "yes", "no")]
    assert own.changes_in(entry("tenant.create", after={"cap": 5})) == []


def test_the_form_offers_actions_in_words_and_keeps_what_it_does_not_offer() -> None:
    staff = {each.name: each for each in filter_fields({"what": "odd.act"}, {}, ["acme", "bolt"], staff=True)}
    assert list(staff) == ["what", "tenant", "target", "request", "since", "until"]
    offered = {value: label for _heading, options in staff["what"].groups for value, label in options}
    assert offered["letter.replay"] == "replayed dead letter"
    assert offered["user.set"] == action_words("user.set", staff=True) == "changed what … may do"
    assert offered["letter"] == action_words("letter", staff=True) == "any of letter"
    assert offered["odd.act"] == "odd.act"
    hidden = filter_fields({}, {}, [], staff=True, hidden=("user", "group"))[0]
    assert not {"user", "group"} & {heading for heading, _options in hidden.groups}
    own_form = filter_fields({}, {}, ["acme"], staff=False)
    assert [each.name for each in own_form] == ["what", "since", "until"]
    assert "letter" not in "".join(label for _heading, options in own_form[0].groups for _value, label in options)
    assert filter_fields({}, {}, [str(n) for n in range(201)], staff=True)[1].groups == []


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


def test_the_title_of_a_filtered_list_counts_what_matches() -> None:
    told = [audit_title(*counts, narrowed=True) for counts in ((0, 0), (1, 1), (12, 3), (10_001, 0))]
    assert told == [
        "No change matches.",
        "1 change matches.",
        "12 changes match, 3 of them by people.",
        "More than 10,000 changes match, none by a person.",
    ]
