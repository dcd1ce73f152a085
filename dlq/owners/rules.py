"""The rules in force: whose a letter is, by the last rule that fits, or else by its contract, or else the default."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.conf import settings

from dlq.models import RuleSet
from dlq.owners.facts import BY_CONTRACT, BY_DEFAULT, NORMAL, Decision, Facts
from dlq.owners.parsing import parse_rules
from dlq.owners.rule import Rule
from dlq.ownership import contract_owner

MOST_REMEMBERED = 10_000
"""Values of one kind, such as error classes."""


class Rules:
    """Rules in the order of their lines. ``version``: the rule set's id; 0: none was ever saved.

    Each value is held against all rules once, and remembered as the rules that it fits, one bit each: of a letter's
    five, the highest bit that they have in common is the last rule that fits.
    """

    def __init__(self, rules: Sequence[Rule], version: int = 0) -> None:
        self.rules = tuple(rules)
        self.version = version
        self._fits: tuple[dict[str, int], ...] = tuple({} for _ in Facts._fields)

    def rule_for(self, facts: Facts) -> Rule | None:
        """The last rule that fits; None: none does."""
        common = (1 << len(self.rules)) - 1
        for place, value in enumerate(facts):
            fits = self._fits[place].get(value)
            common &= self._look(place, value) if fits is None else fits
        return self.rules[common.bit_length() - 1] if common else None

    def _look(self, place: int, value: str) -> int:
        known = self._fits[place]
        if len(known) >= MOST_REMEMBERED:
            known.clear()
        name = Facts._fields[place]
        known[value] = sum(1 << bit for bit, rule in enumerate(self.rules) if rule.fits(name, value))
        return known[value]

    def match(self, facts: Facts) -> Decision:
        """Whose a letter with these facts is. Never without an owner."""
        rule = self.rule_for(facts)
        if rule is not None:
            return rule.decision
        owner = contract_owner(facts.job_type)
        if owner:
            return Decision(owner, None, NORMAL, BY_CONTRACT)
        return Decision(settings.JOBOPS_DEFAULT_OWNER, None, NORMAL, BY_DEFAULT)


_newest: tuple[tuple[int, datetime] | None, Rules] = (None, Rules(()))


def rules_in_force() -> Rules:
    """Those of the newest rule set, in one short query; read anew only when there is a newer one.

    Never raises for what the text holds: a line that cannot be read decides nothing.
    """
    global _newest
    # By time too: after a restore, another set can have the number of one that was lost.
    newest = RuleSet.objects.order_by("-pk").values_list("pk", "created_at").first()
    known, rules = _newest
    if newest == known:
        return rules
    text = RuleSet.objects.filter(pk=newest[0]).values_list("text", flat=True).first() or "" if newest else ""
    rules = Rules(parse_rules(text).rules, newest[0] if newest else 0)
    _newest = (newest, rules)
    return rules
