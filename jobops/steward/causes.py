"""Causes by themselves: letters without one get theirs, snoozes end, and old five minutes are forgotten."""

from __future__ import annotations

from dlq.causes.adopting import adopt
from dlq.causes.timing import forget_spans, wake_snoozed
from jobops.scheduling.duties import Context


def run(context: Context) -> int:
    """Wake what has slept for long enough, and adopt one batch of letters; answers how many of both.

    Raises ``django.db.Error``.
    """
    return wake_snoozed() + adopt()


def forget(context: Context) -> int:
    """Forget one batch of old five minutes; answers how many. Raises ``django.db.Error``."""
    return forget_spans()
