"""The reasons for a discard: a list with defaults, edited by people, each change in the audit."""

from __future__ import annotations

import pytest

from dlq.discard_reasons import (
    DEFAULTS,
    MOST,
    all_reasons,
    reason_add,
    reason_move,
    reason_rename,
    reason_restore,
    reason_retire,
    reasons_offered,
    spelled_as_offered,
)
from dlq.errors import InvalidAction
from dlq.models import DiscardReason
from jobops.audit.models import AuditEntry
from jobops.web.discard_reasons import reason_of, reasons_shown
from tests.runtime.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def told() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_an_untouched_list_is_the_defaults_and_has_no_rows() -> None:
    assert reasons_offered() == list(DEFAULTS)
    assert reasons_shown() == [*DEFAULTS, "Something else"]
    assert not DiscardReason.objects.exists()


def test_the_first_change_keeps_the_defaults() -> None:
    reason_add(text="  Customer\tleft ", by="tests")
    assert reasons_offered() == [*DEFAULTS, "Customer left"]
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target_id, entry.after) == ("discard_reason.add", "Customer left", {"position": 5})


def test_rename_move_retire_and_restore() -> None:
    one, two, three, four = DEFAULTS
    reason_rename(text=two, new="Mended by hand", by="tests")
    reason_move(text=four, up=True, by="tests")
    reason_move(text=one, up=False, by="tests")
    assert reasons_offered() == ["Mended by hand", one, four, three]
    reason_retire(text=one, by="tests")
    assert reasons_offered() == ["Mended by hand", four, three]
    assert [(each.text, each.retired) for each in all_reasons()][-1] == (one, True)
    reason_restore(text=one, by="tests")
    assert reasons_offered() == ["Mended by hand", four, three, one]
    verbs = ["rename", "move", "move", "retire", "restore"]
    assert told() == [f"discard_reason.{verb}" for verb in verbs]
    renamed = AuditEntry.objects.earliest("pk")
    assert (renamed.target_id, renamed.before, renamed.after) == (two, {"text": two}, {"text": "Mended by hand"})


def test_what_changes_nothing_is_in_no_audit() -> None:
    first, last = DEFAULTS[0], DEFAULTS[-1]
    reason_move(text=first, up=True, by="tests")
    reason_move(text=last, up=False, by="tests")
    reason_rename(text=first, new=first, by="tests")
    reason_restore(text=first, by="tests")
    assert (reasons_offered(), told()) == (list(DEFAULTS), [])


@pytest.mark.parametrize("text", ["", " \n", "x" * 101, "something  ELSE", "fixed by HAND", "\u2003"])
def test_what_is_no_reason_or_there_already_is_refused(text: str) -> None:
    with pytest.raises(InvalidAction) as refusal:
        reason_add(text=text, by="tests")
    assert refusal.value.field == "text"
    with pytest.raises(InvalidAction):
        reason_rename(text=DEFAULTS[0], new=text, by="tests")
    assert (reasons_offered(), told()) == (list(DEFAULTS), [])


def test_a_case_of_its_own_may_be_mended() -> None:
    reason_rename(text="Fixed by hand", new="Fixed By Hand", by="tests")
    assert "Fixed By Hand" in reasons_offered()


@pytest.mark.parametrize("act", [reason_retire, reason_restore])
def test_what_is_not_there_any_more_is_said(act: object) -> None:
    with pytest.raises(InvalidAction, match="not in the list any more"):
        act(text="Gone", by="tests")  # type: ignore[operator]
    with pytest.raises(InvalidAction, match="not in the list any more"):
        reason_rename(text="Gone", new="Here", by="tests")
    reason_retire(text=DEFAULTS[0], by="tests")
    with pytest.raises(InvalidAction, match="is retired"):
        reason_move(text=DEFAULTS[0], up=True, by="tests")


def test_a_retired_one_comes_back_when_it_is_added() -> None:
    reason_retire(text="Fixed by hand", by="tests")
    reason_add(text="fixed by hand", by="tests")
    assert reasons_offered()[-1] == "fixed by hand"
    assert DiscardReason.objects.count() == len(DEFAULTS)


def test_a_list_that_nobody_reads_is_refused() -> None:
    for number in range(MOST - len(DEFAULTS)):
        reason_add(text=f"reason {number}", by="tests")
    with pytest.raises(InvalidAction, match="retire one first"):
        reason_add(text="one more", by="tests")
    reason_retire(text="reason 0", by="tests")
    reason_add(text="one more", by="tests")
    with pytest.raises(InvalidAction, match="retire one first"):
        reason_restore(text="reason 0", by="tests")


def test_two_who_change_it_first_write_the_defaults_once() -> None:
    def work() -> None:
        try:
            reason_add(text="Customer left", by="tests")
        except InvalidAction as error:
            assert "already" in error.problem  # noqa: PT017 - one of them may be second

    at_once(work, 4)
    assert reasons_offered() == [*DEFAULTS, "Customer left"]
    assert DiscardReason.objects.count() == len(DEFAULTS) + 1


def test_what_a_form_says() -> None:
    assert reason_of({"reason": "Fixed by hand", "note": " I called "}) == "Fixed by hand: I called"
    assert reason_of({"reason": "Fixed by hand"}) == "Fixed by hand"
    assert reason_of({"reason": "Something else", "note": "fire"}) == "fire"
    assert reason_of({"reason": "Something else"}) == ""
    assert reason_of({"reason": "never offered", "note": "fire"}) == "fire"
    # The page was open when it was retired.
    reason_retire(text="Fixed by hand", by="tests")
    assert reason_of({"reason": "Fixed by hand"}) == "Fixed by hand"


def test_words_of_the_list_are_spelled_as_there() -> None:
    assert spelled_as_offered(" fixed  by HAND") == "Fixed by hand"
    assert spelled_as_offered("By fire") == "By fire"
