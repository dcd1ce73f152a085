"""What happens to groups by time alone: snoozes that are over, and five minutes that nobody looks back at any more."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from dlq.causes.keeping import BY_ITSELF, record_turns
from dlq.causes.waking import STATE_FIELDS, GroupState, Turn, set_state
from dlq.locking import lock_groups
from dlq.models import DeadLetterGroup, GroupSpan
from dlq.rows import update_rows

KEEP_SPANS = timedelta(days=8)
AT_ONCE = 500
SPANS_AT_ONCE = 5_000


def wake_snoozed(limit: int = AT_ONCE) -> int:
    """Make at most so many groups active whose time of sleep is over; answers how many. Raises ``django.db.Error``."""
    now = timezone.now()
    over = DeadLetterGroup.objects.filter(snoozed_until__lte=now, state=GroupState.SNOOZED).order_by("snoozed_until")
    ids = list(over.values_list("pk", flat=True)[:limit])
    if not ids:
        return 0
    turns = []
    with transaction.atomic():
        for group in lock_groups(ids):
            # Somebody may have snoozed it anew since, or taken it up.
            if group.state == GroupState.SNOOZED and group.snoozed_until is not None and group.snoozed_until <= now:
                set_state(group, GroupState.ACTIVE, at=now, by=BY_ITSELF)
                turns.append((group, Turn("group.wake", GroupState.SNOOZED, "Its time is over.")))
        update_rows(DeadLetterGroup, [group for group, _ in turns], STATE_FIELDS)
        record_turns(turns)
    return len(turns)


def forget_spans(limit: int = SPANS_AT_ONCE) -> int:
    """Delete at most so many five minutes of longer ago than ``KEEP_SPANS``; answers how many."""
    old = GroupSpan.objects.filter(at__lt=timezone.now() - KEEP_SPANS).order_by("at", "group")
    deleted, _ = GroupSpan.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:limit])).delete()
    return deleted
