"""``manage.py dlq``: filters, replay, discard, undo; honest counts, and nothing done by accident."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from dlq import bulk_run
from dlq.models import BulkAction, DeadLetter, State
from jobops.audit.models import AuditEntry
from jobops.context.models import OutboxEntry
from jobops.management import dlq_bulk
from tenants.models import Tenant
from tests.dlq.letters import letter, letters, states
from tests.runtime import factory  # registers tests.echo
from tests.runtime.asking import ask, refusal, text
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db
assert factory.echo


@pytest.fixture
def acme() -> Tenant:
    return new_tenant("acme")


def ids(*arguments: str) -> set[int]:
    return {row["id"] for row in ask("dlq", "list", *arguments)}


def test_a_cause_and_a_person_that_are_not_there_are_refused(acme: Tenant) -> None:
    assert "there is no cause 7" in refusal("dlq", "replay", "--group", "7")[1]
    assert "no account 'olga'" in refusal("dlq", "replay", "--assignee", "olga")[1]


def test_list_takes_every_filter(acme: Tenant) -> None:
    now = timezone.now()
    old = letter(acme, dead_at=now - timedelta(days=2), due_at=now - timedelta(days=1), owner="billing")
    poison = letter(acme, reason="poison", error_class="shop.errors.Refused", error="no answer from pay.example")
    other = letter(new_tenant("other"), job_type="tests.other", state=State.DISCARDED)
    assert ids() == {old.pk, poison.pk, other.pk}
    for arguments, found in {
        ("--tenant", "acme"): {old, poison},
        ("--job", "tests.other"): {other},
        ("--owner", "billing"): {old},
        ("--status", "discarded"): {other},
        ("--status", "undrained"): {old, poison},
        ("--died-of", "poison"): {poison},
        ("--error", "Refused"): {poison},
        ("--older-than", "1d"): {old},
        ("--overdue",): {old},
        ("--search", "PAY.example answer"): {poison},
        ("--search", "pay.example", "--tenant", "other"): set(),
    }.items():
        assert ids(*arguments) == {each.pk for each in found}, arguments
    assert [row["id"] for row in ask("dlq", "list", "--due", "--limit", "2")] == [old.pk, poison.pk]
    assert [row["id"] for row in ask("dlq", "list", "--limit", "1")] == [other.pk]
    for wrong in (("--older-than", "-5s"), ("--older-than", "soon"), ("--status", "no"), ("--search", "a\0b")):
        assert refusal("dlq", "list", *wrong)[0] == 2, wrong


def test_replay_by_name_and_honest_counts(acme: Tenant) -> None:
    """DL-13"""
    five = letters(acme, 5)
    ask("dlq", "discard", str(five[0].pk), five[1].job_id, "--reason", "a duplicate")
    report = ask("dlq", "replay", *(str(each.pk) for each in five), str(five[0].pk))
    assert report == {
        "matched": 5, "done": 3, "skipped": 2, "skipped_for": {"already discarded": 2}, "dry_run": False,
        "bulk": BulkAction.objects.latest("pk").pk, "state": "finished",
    }  # fmt: skip
    assert states(five) == ["discarded"] * 2 + ["replaying"] * 3
    assert OutboxEntry.objects.count() == 3
    assert text("dlq", "replay", str(five[4].pk)) == "0 replayed, 1 skipped: already being replayed (1)\n"
    shown = ask("dlq", "show", str(five[4].pk))
    assert (shown["state"], shown["replays"], shown["runs"][0]["state"]) == ("replaying", 1, "running")
    assert shown["runs"][0]["by"].startswith("command:")


def test_one_unknown_name_and_nothing_is_done(acme: Tenant) -> None:
    one = letter(acme)
    for kind in (("replay",), ("discard", "--reason", "r")):
        code, message = refusal("dlq", *kind, str(one.pk), "no-such-job")
        assert code == 1
        assert "'no-such-job': there is none" in message
    assert states([one]) == ["open"]
    assert not BulkAction.objects.exists()


def test_what_is_neither_named_nor_filtered_needs_all(acme: Tenant) -> None:
    two = letters(acme, 2)
    for wrong in (
        ("replay",),
        ("discard", "--reason", "r"),
        ("discard", "--all"),
        ("discard", "--all", "--reason", " "),
        ("discard", "--all", "--reason", "x" * 501),
        ("replay", str(two[0].pk), "--all"),
        ("replay", str(two[0].pk), "--tenant", "acme"),
        ("undo",),
        ("undo", str(two[0].pk), "--bulk", "1"),
        ("replay", "--group", "seven"),
        ("replay", "--assignee", "me"),
    ):
        assert refusal("dlq", *wrong)[0] == 2, wrong
    assert states(two) == ["open"] * 2
    assert ask("dlq", "replay", "--all", "--reason", "the provider is back")["done"] == 2
    assert BulkAction.objects.get().reason == "the provider is back"


def test_a_filter_acts_on_open_letters_that_it_finds(acme: Tenant) -> None:
    """DL-08: whatever is discarded stays so; the others of the same error are replayed."""
    discarded = letters(acme, 2, state=State.DISCARDED)
    three, foreign = letters(acme, 3), letter(new_tenant("other"))
    assert ask("dlq", "replay", "--tenant", "acme", "--error", "ValueError")["matched"] == 3
    assert states([*discarded, *three, foreign]) == ["discarded"] * 2 + ["replaying"] * 3 + ["open"]
    assert ask("dlq", "replay", "--tenant", "acme") | {"bulk": 0} == {
        "matched": 0, "done": 0, "skipped": 0, "skipped_for": {}, "dry_run": False, "bulk": 0,
    }  # fmt: skip
    assert text("dlq", "replay", "--owner", "nobody") == "no dead letter matches\n"
    assert "'nobody' is not known" in refusal("dlq", "replay", "--tenant", "nobody")[1]


def test_a_dry_run_tells_and_does_nothing(acme: Tenant) -> None:
    fit, gone = letter(acme), letter(acme, job_type="tests.gone")
    report = ask("dlq", "replay", "--all", "--dry-run")
    assert (report["matched"], report["done"], report["would_do"], report["skipped"]) == (2, 0, 1, 1)
    assert (report["dry_run"], report["bulk"], report["unchecked"]) == (True, None, 0)
    assert "tests.gone is not registered" in next(iter(report["skipped_for"]))
    assert states([fit, gone]) == ["open"] * 2
    assert not BulkAction.objects.exists()
    assert not AuditEntry.objects.filter(target_kind="bulk").exists()
    assert text("dlq", "discard", "--all", "--reason", "r", "--dry-run") == "2 would be discarded\n"


def test_undo_opens_again_by_name_or_all_that_one_discard_closed(acme: Tenant) -> None:
    some = letters(acme, 4)
    done, hint = text("dlq", "discard", "--all", "--reason", "the customer left").splitlines()
    bulk = BulkAction.objects.get().pk
    assert (done, hint) == ("4 discarded", f"`manage.py dlq undo --bulk {bulk}` opens them again")
    assert set(DeadLetter.objects.values_list("state", "discard_reason")) == {("discarded", "the customer left")}
    assert ask("dlq", "undo", str(some[0].pk))["done"] == 1
    assert states(some) == ["open"] + ["discarded"] * 3
    report = ask("dlq", "undo", "--bulk", str(bulk))
    assert (report["done"], report["skipped"]) == (3, 1)
    assert states(some) == ["open"] * 4
    assert "undone it already" in refusal("dlq", "undo", "--bulk", str(bulk))[1]
    replay = BulkAction.objects.create(kind="replay", state="finished")
    for number, says in ((999, "there is no bulk action 999"), (replay.pk, "only a discard can be undone")):
        code, message = refusal("dlq", "undo", "--bulk", str(number))
        assert (code, message.startswith("--bulk: "), message.endswith(says)) == (1, True, True)


def test_what_would_change_nothing_leaves_no_bulk_action_and_no_row(acme: Tenant) -> None:
    one, gone = letter(acme), letter(acme, job_type="tests.gone")
    long_ago = timezone.now() - timedelta(days=31)
    late = letter(acme, state=State.DISCARDED, drained_at=long_ago)
    for arguments, why in {
        ("undo", str(one.pk)): "it is open, not discarded",
        ("undo", str(late.pk)): "it was discarded more than 30 days ago",
        ("discard", str(late.pk), "--reason", "r"): "already discarded",
        ("replay", str(gone.pk)): "tests.gone is not registered",
    }.items():
        report = ask("dlq", *arguments)
        assert (report["matched"], report["done"], report["skipped"], report["bulk"]) == (1, 0, 1, None), arguments
        assert why in next(iter(report["skipped_for"]))
    assert states([one, gone, late]) == ["open", "open", "discarded"]
    assert not BulkAction.objects.exists()
    assert not AuditEntry.objects.exclude(target_kind="tenant").exists()


def test_a_discard_of_which_nothing_is_discarded_any_more_is_not_undone(acme: Tenant) -> None:
    one = letter(acme)
    bulk = ask("dlq", "discard", "--all", "--reason", "r")["bulk"]
    ask("dlq", "undo", str(one.pk))
    ask("dlq", "discard", str(one.pk), "--reason", "another")
    code, message = refusal("dlq", "undo", "--bulk", str(bulk))
    assert (code, "nothing that it discarded can be opened again" in message) == (1, True)
    assert BulkAction.objects.count() == 3


def test_every_change_is_in_the_audit_with_the_login(acme: Tenant) -> None:
    letters(acme, 2)
    ask("dlq", "discard", "--all", "--reason", "r")
    rows = AuditEntry.objects.exclude(target_kind="tenant")
    assert sorted(rows.values_list("action", flat=True)) == [
        "bulk.confirm", "bulk.finish", "group.drain", "letter.discard", "letter.discard",
    ]  # fmt: skip
    # The cause is drained by itself.
    assert {row.actor_kind for row in rows if row.target_kind != "group"} == {"command"}
    assert len({row.request_id for row in rows}) == 1
    assert rows[0].request_id


def test_ctrl_c_stops_where_it_is_and_says_so(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    some = letters(acme, 5)

    def interrupted(bulk_id: int) -> int:
        if BulkAction.objects.get(pk=bulk_id).done:
            raise KeyboardInterrupt
        return bulk_run.run_batch(bulk_id, 2)

    monkeypatch.setattr(dlq_bulk, "run_batch", interrupted)
    code, message = refusal("dlq", "discard", "--all", "--reason", "r")
    assert (code, message) == (1, "2 of 5 discarded, 0 skipped; the others are as they were")
    assert states(some) == ["discarded"] * 2 + ["open"] * 3
    assert BulkAction.objects.get().state == "cancelled"
