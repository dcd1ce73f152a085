"""The ownership rules as their page shows them: each line beside what it would do."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dlq.models import RuleSet
from dlq.owners.checking import Checked, check_rules
from dlq.owners.parsing import Fault
from dlq.owners.previewing import Preview, Tally, preview, tally
from dlq.owners.rule import Rule
from jobops.web.settings_words import line_words

KEEP_S = 5.0
"""Who types is shown numbers of at most so many seconds ago."""
MOST_VERSIONS = 50
MOST_SHOWN = 200
"""Characters of a line that is shown beside what is wrong with it."""

_lock = threading.Lock()
_kept: tuple[float, Tally] | None = None


@dataclass(frozen=True, slots=True)
class LineShown:
    """A rule or a line that cannot be one, with what is wrong with it. ``rule``: None for the latter. ``does``: what
    it would do, in words. ``text``: the beginning of the line, as nobody wants to count lines."""

    number: int
    rule: Rule | None
    does: str
    faults: Sequence[Fault]
    text: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether the text cannot be in force because of it."""
        return any(fault.fatal for fault in self.faults)


@dataclass(frozen=True, slots=True)
class RulesPreview:
    """What a text would do; ``whole``: what is wrong with it as a whole."""

    checked: Checked
    lines: Sequence[LineShown]
    whole: Sequence[Fault]
    effect: Preview


def preview_of(text: str) -> RulesPreview:
    """What this text would do now, line by line. Never raises for what it holds."""
    checked = check_rules(text)
    effect = preview(checked.rules, _tally())
    rules = {rule.line: rule for rule in checked.rules}
    written = text.splitlines()
    numbers = sorted({*rules, *(fault.line for fault in checked.faults if fault.line)})
    lines = [
        LineShown(
            number,
            rules.get(number),
            line_words(effect.lines[number]) if number in effect.lines else "",
            [fault for fault in checked.faults if fault.line == number],
            written[number - 1].strip()[:MOST_SHOWN] if number <= len(written) else "",
        )
        for number in numbers
    ]
    return RulesPreview(checked, lines, [fault for fault in checked.faults if not fault.line], effect)


def versions() -> list[RuleSet]:
    """The newest ones, the newest first, without their texts."""
    return list(RuleSet.objects.defer("text").order_by("-pk")[:MOST_VERSIONS])


def version_before(version: RuleSet) -> RuleSet | None:
    """The one that it replaced."""
    return RuleSet.objects.filter(pk__lt=version.pk).order_by("-pk").first()


def forget() -> None:
    """Count anew at the next look."""
    global _kept
    with _lock:
        _kept = None


def _tally() -> Tally:
    global _kept
    with _lock:
        if _kept is None or time.monotonic() - _kept[0] > KEEP_S:
            _kept = (time.monotonic(), tally())
        return _kept[1]
