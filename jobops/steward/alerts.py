"""Alerts: every signal is read and judged, and episodes of long ago are deleted. Sending is done elsewhere."""

from __future__ import annotations

from jobops.alerts import evaluating
from jobops.scheduling.duties import Context


def run(context: Context) -> int:
    """One round; answers how many episodes changed."""
    return evaluating.evaluate(context.engine)


def forget(context: Context) -> int:
    """Delete some of what was over long ago; answers how many episodes."""
    return evaluating.forget()
