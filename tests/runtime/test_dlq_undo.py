"""``manage.py dlq undo`` in its three ways; the reasons of ``dlq discard``; letters by when they were drained."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from dlq.discard_reasons import DEFAULTS, reason_retire
from dlq.models import BulkAction, DeadLetter, State
from tenants.models import Tenant
from tests.dlq.letters import letter, letters, states
from tests.runtime.asking import ask, refusal, text
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme() -> Tenant:
    return new_tenant("acme")


def test_an_undo_of_all_that_match_leaves_the_others_alone(acme: Tenant) -> None:
    mine, foreign = letters(acme, 3), letters(new_tenant("other"), 2)
    ask("dlq", "discard", "--all", "--reason", "r")
    report = ask("dlq", "undo", "--tenant", "acme")
    assert (report["matched"], report["done"]) == (3, 3)
    assert states([*mine, *foreign]) == ["open"] * 3 + ["discarded"] * 2
    assert BulkAction.objects.latest("pk").chosen == "status=discarded&tenant=acme"
    assert ask("dlq", "undo", "--all", "--dry-run")["would_do"] == 2
    assert ask("dlq", "undo", "--all")["done"] == 2
    assert text("dlq", "undo", "--all") == "no dead letter matches\n"


def test_what_retention_takes_any_moment_is_skipped_and_told(acme: Tenant) -> None:
    now = timezone.now()
    late = letter(acme, state=State.DISCARDED, drained_at=now - timedelta(days=31))
    fresh = letter(acme, state=State.DISCARDED, drained_at=now - timedelta(days=29))
    report = ask("dlq", "undo", "--owner", "ops")
    assert report["skipped_for"] == {"it was discarded more than 30 days ago": 1}
    assert states([late, fresh]) == ["discarded", "open"]


def test_which_ones_must_be_said_in_one_way(acme: Tenant) -> None:
    one = letter(acme, state=State.DISCARDED, drained_at=timezone.now())
    for wrong in (
        (),
        ("--dry-run",),
        (str(one.pk), "--tenant", "acme"),
        (str(one.pk), "--all"),
        ("--all", "--bulk", "1"),
        ("--tenant", "acme", "--bulk", "1"),
        ("--bulk", "1", "--dry-run"),
        ("--bulk", "0"),
    ):
        assert refusal("dlq", "undo", *wrong)[0] == 2, wrong
    assert states([one]) == ["discarded"]


def test_a_reason_of_the_list_with_a_note(acme: Tenant) -> None:
    one, two, three = letters(acme, 3)
    ask("dlq", "discard", str(one.pk), "--reason", "FIXED by hand", "--note", "olga called them")
    ask("dlq", "discard", str(two.pk), "--reason", "by fire")
    for each, reason in ((one, "Fixed by hand: olga called them"), (two, "by fire")):
        assert DeadLetter.objects.get(pk=each.pk).discard_reason == reason
    code, message = refusal("dlq", "discard", str(three.pk))
    assert (code, "“Fixed by hand”" in message, "--reason" in message) == (2, True, True)
    assert refusal("dlq", "discard", str(three.pk), "--reason", "r", "--note", "x" * 500)[0] == 2
    assert states([three]) == ["open"]


def test_the_list_of_reasons() -> None:
    assert (
        ask("dlq", "reasons")
        == ask("dlq", "reasons", "list")
        == [{"reason": text, "offered": True} for text in DEFAULTS]
    )
    reason_retire(text=DEFAULTS[0], by="tests")
    assert text("dlq", "reasons").splitlines()[-1].split() == [*DEFAULTS[0].split(), "no"]


def test_letters_by_when_they_were_drained(acme: Tenant) -> None:
    now = timezone.now()
    letter(acme, drained_at=None)
    day = (now - timedelta(days=3)).date()
    two = letter(acme, state=State.RESOLVED, drained_at=now - timedelta(days=3))
    letter(acme, state=State.DISCARDED, drained_at=now - timedelta(days=9))

    def ids(*arguments: str) -> list[int]:
        return [row["id"] for row in ask("dlq", "list", *arguments)]

    assert ids("--drained", "7d") == [two.pk]
    assert ids("--drained", f"{day}..{day}") == [two.pk]
    assert ids("--drained", "7d", "--status", "discarded") == ids("--drained", "7d", "--status", "open") == []
    assert str(two.pk) in text("dlq", "export", "--drained", "7d")
    for wrong in ("yesterday", "0s", f"{day}..", "2026-02-30..2026-03-01", "2026-03-02..2026-03-01", "9999d"):
        code, message = refusal("dlq", "list", "--drained", wrong)
        assert (code, "--drained" in message) == (2, True), wrong
