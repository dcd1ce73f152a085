"""Severities in their order, and how often they remind."""

from __future__ import annotations

from datetime import timedelta

from dlq.models import Severity

SEVERITIES: tuple[str, ...] = (Severity.LOW, Severity.NORMAL, Severity.HIGH, Severity.CRITICAL)
"""From the least to the most severe: the same words as dead letters have."""

REMIND_AFTER = {
    Severity.LOW: timedelta(hours=24),
    Severity.NORMAL: timedelta(hours=8),
    Severity.HIGH: timedelta(hours=4),
    Severity.CRITICAL: timedelta(hours=1),
}
"""How long after it was told, or reminded of, a firing alert is reminded of that nobody has acknowledged."""


def rank(severity: str) -> int:
    """Its place in the order; a word that is none of them counts as normal."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else SEVERITIES.index(Severity.NORMAL)


def remind_after(severity: str) -> timedelta:
    """How long until the next reminder."""
    return REMIND_AFTER[Severity(SEVERITIES[rank(severity)])]
