"""What a text of rules would do to the undrained letters that there are: counted by facts, not letter by letter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Case, Count, Q, Value, When

from dlq.models import UNDRAINED, DeadLetter, DeadLetterGroup
from dlq.owners.facts import Facts
from dlq.owners.rule import Rule
from dlq.owners.rules import Rules


@dataclass(slots=True)
class LinePreview:
    """What one rule would do. ``letters``: on which it decides; ``taken``: owner now → how many it takes from them;
    ``held``: that fit, and stay with whom a person gave them to."""

    letters: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    held: int = 0


@dataclass(frozen=True, slots=True)
class Preview:
    """``lines``: line → what its rule would do. ``returned``: owner now → owner then → letters on which no rule
    decides any more, so that their contract or the default does. ``moved``: all that would be another team's."""

    total: int
    moved: int
    held: int
    lines: Mapping[int, LinePreview]
    returned: Mapping[str, Counter[str]]


Tally = Mapping[tuple[Facts, str, bool], int]
"""(facts, owner, held by a person) → undrained letters."""


def tally() -> Tally:
    """The undrained letters by what rules go by, in two queries. Its size goes with how various they are."""
    held = Q(by_hand=True)
    hands = list(DeadLetterGroup.objects.filter(by_hand=True).values_list("pk", flat=True))
    if hands:
        held |= Q(group_id__in=hands)
    rows = (
        DeadLetter.objects.filter(state__in=UNDRAINED)
        .annotate(held=Case(When(held, then=Value(1)), default=Value(0)))
        .order_by()
        .values_list("job_type", "tenant_slug", "queue", "reason", "error_class", "owner", "held")
        .annotate(count=Count("pk"))
    )
    return {(Facts(*facts), owner, bool(held)): count for *facts, owner, held, count in rows.iterator()}


def preview(rules: Sequence[Rule], letters: Tally | None = None) -> Preview:
    """What these rules would do. ``letters``: as ``tally`` counted them, from whom has that already."""
    wanted = Rules(rules)
    lines = {rule.line: LinePreview() for rule in rules}
    returned: dict[str, Counter[str]] = {}
    moved = held_in_all = total = 0
    for (facts, owner, held), count in (tally() if letters is None else letters).items():
        total += count
        rule = wanted.rule_for(facts)
        line = lines[rule.line] if rule is not None else None
        if held:
            held_in_all += count
            if line is not None:
                line.held += count
            continue
        if line is not None:
            line.letters += count
        then = wanted.match(facts).owner
        if then == owner:
            continue
        moved += count
        if line is not None:
            line.taken[owner] += count
        else:
            returned.setdefault(owner, Counter())[then] += count
    return Preview(total, moved, held_in_all, lines, returned)
