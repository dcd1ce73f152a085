"""Changes of many letters: in batches, resumable, right when two do them at once and when others change meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User

from dlq.models import DeadLetter, LetterChange
from dlq.owners import spreading
from dlq.owners.assigning import group_assign, group_give_back
from dlq.owners.redeciding import redecide
from dlq.owners.saving import rules_apply, rules_save
from dlq.owners.spreading import change_begin, change_run, run_changes
from tenants.models import Tenant
from tests.dlq.letters import unsaved
from tests.dlq.owners.conftest import die, group_of, owners
from tests.runtime.together import at_once, twice_at_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("teams")]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of three, six while the person waits."""
    monkeypatch.setattr(spreading, "BATCH", 3)
    monkeypatch.setattr(spreading, "INLINE", 6)


def work_off() -> int:
    """What the duty does until nothing is left; answers in how many turns."""
    turns = 0
    while LetterChange.objects.filter(ended_at__isnull=True).exists():
        run_changes(3)
        turns += 1
        assert turns < 100
    return turns


def inline(change_id: int) -> int:
    return change_run(change_id, spreading.INLINE)


@pytest.mark.usefixtures("small")
def test_a_large_group_follows_in_batches(acme: Tenant, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlq.owners.group_hands.change_run", inline)
    letters = die(acme, 20)
    changed = group_assign(group_id=group_of(letters[0]).pk, by=ada, owner="mail")
    assert (changed.letters, changed.going_on) == (6, True)
    assert owners(letters).count("mail") == 6
    assert die(acme)[0].owner == "mail"
    assert work_off() >= 4
    assert set(owners(letters)) == {"mail"}
    change = LetterChange.objects.get()
    assert (change.changed, change.upto_id) == (20, letters[-1].pk)


@pytest.mark.usefixtures("small")
def test_given_back_before_all_had_followed_is_given_back_whole(
    acme: Tenant, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlq.owners.group_hands.change_run", inline)
    letters = die(acme, 20)
    group_id = group_of(letters[0]).pk
    group_assign(group_id=group_id, by=ada, owner="mail", assignee=ada)
    group_give_back(group_id=group_id, by=ada)
    work_off()
    assert set(owners(letters)) == {"payments"}
    assert not DeadLetter.objects.filter(assignee__isnull=False).exists()


def test_a_batch_that_was_broken_off_changes_nothing_and_is_done_again(
    acme: Tenant, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = die(acme, 5)
    change_id = rules_change(ada, "* -> mail", monkeypatch)

    def killed(*args: Any, **fields: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(spreading, "_note", killed)
        with pytest.raises(KeyboardInterrupt):
            change_run(change_id)
    assert set(owners(letters)) == {"payments"}
    change_run(change_id)
    assert set(owners(letters)) == {"mail"}
    assert LetterChange.objects.get(pk=change_id).changed == 5


def rules_change(by: User, text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """New rules whose letters have not followed yet."""
    with monkeypatch.context() as later:
        later.setattr("dlq.owners.saving.change_run", lambda change_id: None)
        rules_save(text=text, by=by)
    return LetterChange.objects.order_by("-pk").values_list("pk", flat=True)[0]


def test_a_batch_that_somebody_else_did_meanwhile_is_theirs(
    acme: Tenant, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = die(acme, 5)
    change_id = rules_change(ada, "* -> mail", monkeypatch)

    def overtaken(change: LetterChange, batch: Sequence[DeadLetter]) -> int:
        LetterChange.objects.filter(pk=change.pk).update(last_id=batch[-1].pk)
        return redecide(change, batch)

    with monkeypatch.context() as slower:
        slower.setitem(spreading.BATCHES, "owner", overtaken)
        change_run(change_id, 3)
    assert set(owners(letters)) == {"payments"}
    assert LetterChange.objects.get(pk=change_id).changed == 0
    change_run(change_id)
    assert LetterChange.objects.get(pk=change_id).changed == 5


def test_new_rules_take_the_place_of_those_that_were_still_spreading(
    acme: Tenant, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = die(acme, 5)
    old = rules_change(ada, "* -> mail", monkeypatch)
    rules_save(text="* -> imports", by=ada)
    assert change_run(old) == 0
    assert set(owners(letters)) == {"imports"}


def test_rules_change_owner_severity_due_time_and_groups(acme: Tenant, ada: User) -> None:
    letters = die(acme, 2)
    DeadLetter.objects.filter(pk=letters[0].pk).update(clock_paused_s=600)
    saved = rules_save(text="job=billing.* -> imports sla=30m severity=critical", by=ada)
    assert (saved.letters, saved.going_on) == (2, False)
    stored = list(DeadLetter.objects.order_by("pk"))
    assert [(each.owner, each.severity, each.sla_s) for each in stored] == [("imports", "critical", 1800)] * 2
    assert [int((each.due_at - each.dead_at).total_seconds()) for each in stored] == [2400, 1800]
    group = group_of(letters[0])
    assert (group.owner, group.owned_by, group.severity) == ("imports", "rule: job=billing.*", "critical")
    assert group.due_at == min(each.due_at for each in stored)


def test_drained_letters_stay_whose_they_were(acme: Tenant, ada: User) -> None:
    letters = die(acme, 2)
    DeadLetter.objects.filter(pk=letters[0].pk).update(state="resolved")
    rules_save(text="* -> imports", by=ada)
    assert owners(letters) == ["payments", "imports"]


def test_letters_from_before_there_were_groups_follow_too(acme: Tenant, ada: User) -> None:
    old = unsaved(acme, job_type="billing.send", owner="ops")
    old.save()
    rules_save(text="* -> imports", by=ada)
    assert owners([old]) == ["imports"]


def test_applying_the_rules_again_follows_contracts_that_changed(acme: Tenant, ada: User) -> None:
    letters = die(acme, 3)
    DeadLetter.objects.update(owner="was-somebody-elses")
    assert rules_apply(by=ada).letters == 3
    assert set(owners(letters)) == {"payments"}


def test_nothing_to_do_is_nothing(ada: User) -> None:
    assert run_changes() == 0
    change_begin(kind=LetterChange.Kind.OWNER, by=ada)
    work_off()
    assert LetterChange.objects.get().ended_at is not None


@pytest.mark.django_db(transaction=True)
def test_two_who_spread_the_same_change_count_each_letter_once(
    acme: Tenant, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I8's like: two schedulers, both right."""
    monkeypatch.setattr(spreading, "BATCH", 7)
    letters = die(acme, 60)
    change_id = rules_change(ada, "* -> mail", monkeypatch)
    twice_at_once(work_off)
    assert set(owners(letters)) == {"mail"}
    change = LetterChange.objects.get(pk=change_id)
    assert (change.changed, change.ended_at is not None) == (60, True)


@pytest.mark.django_db(transaction=True)
def test_what_is_stored_while_rules_change_follows_them(acme: Tenant, ada: User) -> None:
    """The race of the intake, which decides by the old rules and commits after the new ones have gone over all."""
    turns = iter(range(100))

    def work() -> None:
        if next(turns) == 0:
            for team in ("mail", "imports", "operations"):
                rules_save(text=f"* -> {team}", by=ada)
        else:
            for _ in range(6):
                die(acme, 3)

    at_once(work, 4)
    work_off()
    assert set(DeadLetter.objects.values_list("owner", flat=True)) == {"operations"}
    assert DeadLetter.objects.count() == 54


@pytest.mark.postgres_only
@pytest.mark.django_db(transaction=True)
def test_who_changes_the_rules_waits_for_who_is_storing_by_the_old_ones(acme: Tenant, ada: User) -> None:
    import threading

    from django.db import connection, transaction

    from dlq.owners.deciding import decide

    letter = unsaved(acme, job_type="billing.send")
    saving = threading.Thread(target=lambda: (rules_save(text="* -> mail", by=ada), connection.close()))
    with transaction.atomic():
        decide([letter])
        saving.start()
        saving.join(0.5)
        assert saving.is_alive()
        letter.save()
    saving.join(30)
    assert owners([letter]) == ["mail"]
