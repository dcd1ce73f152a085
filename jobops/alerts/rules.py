"""Thresholds: a signal's own, or those of the narrowest rule that fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobops.alerts.matching import PARTS, Matcher
from jobops.alerts.models import AlertRule

if TYPE_CHECKING:
    from jobops.alerts.signals.base import Signal

SCOPE = PARTS
"""The parts of a rule's scope."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What holds for one subject. ``threshold`` None: it never fires. ``severity`` and ``owner`` empty: the reading's.
    ``rule``: the number of the rule that says so; None: the signal's defaults."""

    threshold: float | None
    clears_at: float
    for_s: int
    calm_s: int
    severity: str = ""
    owner: str = ""
    rule: int | None = None


class Limits:
    """The rules as of one moment, ready to be asked thousands of times."""

    def __init__(self, rules: Iterable[AlertRule] = ()) -> None:
        self._rules: dict[str, list[tuple[Matcher, AlertRule]]] = {}
        for rule in rules:
            matcher = Matcher("", rule.tenant, rule.lane, rule.job_type, rule.team)
            self._rules.setdefault(rule.signal, []).append((matcher, rule))
        for found in self._rules.values():
            # The narrowest first; of two that are as narrow, the newer one.
            found.sort(key=lambda pair: (*pair[0].narrowness, pair[1].pk or 0), reverse=True)

    @classmethod
    def read(cls) -> Limits:
        """The rules in force. One query."""
        return cls(AlertRule.objects.all())

    def rule_for(self, signal: str, scope: Mapping[str, Any], owner: str) -> AlertRule | None:
        """The rule in force for this subject; None: the signal's defaults."""
        for matcher, rule in self._rules.get(signal, ()):
            if matcher.fits(signal, scope, owner):
                return rule
        return None

    def of(self, signal: Signal, scope: Mapping[str, Any], owner: str, default: float | None = None) -> Limit:
        """What holds for this subject. ``default``: its threshold without a rule, if it is not the signal's."""
        usual = signal.threshold if default is None else default
        rule = self.rule_for(signal.name, scope, owner)
        if rule is None:
            return Limit(usual, _clears_at(signal, usual), signal.for_s, signal.calm_s)
        threshold = usual if rule.threshold is None else rule.threshold
        return Limit(
            threshold=threshold if rule.enabled else None,
            clears_at=_clears_at(signal, threshold),
            for_s=signal.for_s if rule.for_s is None else rule.for_s,
            calm_s=signal.calm_s,
            severity=rule.severity,
            owner=rule.owner,
            rule=rule.pk,
        )

    def has_rule(self, signal: str) -> bool:
        """Whether there is any rule of this signal."""
        return signal in self._rules

    def globs(self, signal: str, part: str) -> list[str]:
        """The globs that rules of this signal have for a part of the scope."""
        return [getattr(rule, part) for _, rule in self._rules.get(signal, ()) if getattr(rule, part)]

    def names(self, signal: str, part: str, scope: Mapping[str, Any]) -> bool:
        """Whether the rule in force for this subject names the part: then it is judged by itself."""
        if signal not in self._rules:
            return False
        rule = self.rule_for(signal, scope, "")
        return rule is not None and bool(getattr(rule, part))


def rules_in_force() -> Limits:
    """The rules as they are now. One query."""
    return Limits.read()


def _clears_at(signal: Signal, threshold: float | None) -> float:
    """In the proportion of the signal's own two; of a signal without such a proportion, a tenth away."""
    if threshold is None:
        return 0.0
    if signal.threshold and signal.clears_at is not None:
        return threshold * signal.clears_at / signal.threshold
    return threshold * (1.1 if signal.under else 0.9)
