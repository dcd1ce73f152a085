"""What decides whose a new letter is: a person's word on its group, a rule, its contract, or else the default."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from dlq.clock.pauses import inherit_pauses
from dlq.models import DeadLetter, DeadLetterGroup
from dlq.owners.facts import Decision, Facts, facts_of
from dlq.owners.rules import Rules, rules_in_force
from dlq.owners.turn import while_deciding
from dlq.ownership import drain_sla


class Hand(NamedTuple):
    """What a person decided about a whole group."""

    owner: str
    owned_by: str
    assignee_id: int | None


def decide(letters: Sequence[DeadLetter]) -> None:
    """Set owner, due time and severity of letters that are about to be stored; their ``group`` and tenant are known.
    Where the clock of their group stands still, theirs does.

    In the transaction that stores them. Always sets an owner and a time, whatever the rules and the registry hold.
    Three short queries, however many letters.
    """
    while_deciding()
    rules = rules_in_force()
    hands = {pk: hand for pk, (by_hand, hand) in groups_of(letters).items() if by_hand}
    known: dict[Facts, Decision] = {}
    for letter in letters:
        facts = facts_of(letter)
        decision = known.get(facts) or known.setdefault(facts, decision_for(rules, facts))
        apply_decision(letter, decision)
        if letter.group_id in hands:
            apply_hand(letter, hands[letter.group_id])
    inherit_pauses(letters)


def give_group(group_id: int, decision: Decision) -> bool:
    """Have the group be whose the decision says, unless a person decides about it; answers whether that is new."""
    fields = {"owner": decision.owner, "owned_by": decision.owned_by, "severity": decision.severity}
    return bool(DeadLetterGroup.objects.filter(pk=group_id, by_hand=False).exclude(**fields).update(**fields))


def groups_of(letters: Sequence[DeadLetter]) -> dict[int, tuple[bool, Hand]]:
    """Of the groups of these letters: whether a person decides, and what."""
    ids = {letter.group_id for letter in letters if letter.group_id is not None}
    rows = DeadLetterGroup.objects.filter(pk__in=ids).order_by("pk") if ids else DeadLetterGroup.objects.none()
    return {
        pk: (by_hand, Hand(owner, owned_by, assignee_id))
        for pk, by_hand, owner, owned_by, assignee_id in rows.values_list(
            "pk", "by_hand", "owner", "owned_by", "assignee_id"
        )
    }


def decision_for(rules: Rules, facts: Facts) -> Decision:
    """As the rules match, with the contract's drain SLA where they give none: ``sla_s`` is always set."""
    decision = rules.match(facts)
    if decision.sla_s is not None:
        return decision
    return decision._replace(sla_s=int(drain_sla(facts.job_type).total_seconds()))


def apply_decision(letter: DeadLetter, decision: Decision) -> None:
    """Have the letter say what was decided; its due time with all pauses of its clock."""
    letter.owner, letter.owned_by = decision.owner, decision.owned_by
    letter.sla_s, letter.severity = decision.sla_s or 0, decision.severity
    letter.due_at = letter.dead_at + timedelta(seconds=letter.sla_s + letter.clock_paused_s)
    letter.assignee_id = None


def apply_hand(letter: DeadLetter, hand: Hand) -> None:
    """Have the letter say what a person decided about its whole group; its clock goes on as it was."""
    letter.owner, letter.owned_by, letter.assignee_id = hand.owner or letter.owner, hand.owned_by, hand.assignee_id
