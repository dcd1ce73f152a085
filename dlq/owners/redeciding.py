"""Whose letters and groups are by what is in force now: after other rules, and after a person took or gave back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dlq.models import DeadLetter, DeadLetterGroup, LetterChange
from dlq.owners.deciding import apply_decision, apply_hand, decision_for, give_group, groups_of
from dlq.owners.facts import Facts, facts_of
from dlq.owners.rules import rules_in_force
from dlq.owners.turn import while_deciding
from dlq.rows import update_rows

FIELDS = ("owner", "owned_by", "assignee", "severity", "sla_s", "due_at")
"""What is decided of a letter."""


def redecide(change: LetterChange, letters: Sequence[DeadLetter]) -> int:
    """Decide anew about locked letters; answers how many were decided otherwise before.

    Read after the letters are locked, so that of two changes at once the later one has the last word. What a person
    decided about a letter stays; what one decided about its group says whose it is, and leaves its clock alone.
    """
    changed = redecided(letters)
    update_rows(DeadLetter, changed, FIELDS)
    return len(changed)


def opened_again(letters: Sequence[DeadLetter]) -> None:
    """Have locked letters that somebody has to deal with again be whose they are by what is in force now, and write it.

    In the transaction that opens them, before their groups count them. What a person decided about a letter stays.
    """
    if letters:
        # Or a change that goes on at this moment would miss them: it goes over what is undrained already.
        while_deciding()
        known = {letter.pk: letter.due_at for letter in letters if letter.sla_s == 0}
        changed = redecided(letters)
        for letter in changed:
            # Of one from before SLAs were kept nobody knows what its due time was made of: it stays.
            letter.due_at = known.get(letter.pk, letter.due_at)
        update_rows(DeadLetter, changed, FIELDS)


def redecided(letters: Sequence[DeadLetter]) -> list[DeadLetter]:
    """Have locked letters say what is in force now, without writing them; answers those that said otherwise."""
    rules, groups = rules_in_force(), groups_of(letters)
    changed = []
    for letter in letters:
        if letter.by_hand:
            continue
        before = _decided(letter)
        by_hand, hand = groups.get(letter.group_id or 0, (False, None))
        if by_hand and hand is not None:
            apply_hand(letter, hand)
        else:
            apply_decision(letter, decision_for(rules, facts_of(letter)))
        if _decided(letter) != before:
            changed.append(letter)
    return changed


def redecide_groups(group_ids: Iterable[int]) -> int:
    """Give these groups to whose the letter of their newest death would be, unless a person decided; answers how many
    are somebody else's now."""
    rules = rules_in_force()
    groups = list(DeadLetterGroup.objects.filter(pk__in=group_ids, by_hand=False).order_by("pk"))
    samples = _facts_by_id(group.sample_id for group in groups)
    changed = 0
    for group in groups:
        facts = samples.get(group.sample_id or 0) or Facts(group.job_type, "", "", "", group.error_class)
        changed += give_group(group.pk, rules.match(facts))
    return changed


def _facts_by_id(letter_ids: Iterable[int | None]) -> dict[int, Facts]:
    wanted = [pk for pk in letter_ids if pk is not None]
    rows = DeadLetter.objects.filter(pk__in=wanted)
    fields = ("job_type", "tenant_slug", "queue", "reason", "error_class")
    return {pk: Facts(*facts) for pk, *facts in rows.values_list("pk", *fields)}


def _decided(letter: DeadLetter) -> tuple[object, ...]:
    return (
        letter.owner, letter.owned_by, letter.assignee_id, str(letter.severity), letter.sla_s, letter.due_at,
    )  # fmt: skip
