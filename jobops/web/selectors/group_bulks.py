"""What was done to all letters of a cause at once: its replays, its discards and their undoing, the newest first."""

from __future__ import annotations

from django.db.models import Q

from dlq.bulk_progress import Progress, progress_of
from dlq.models import BulkAction, DeadLetterGroup

MOST = 10
LOOKED_AT = 1000
"""A cause of which nothing was done is not looked for among all bulk actions that ever were."""

State = BulkAction.State


def bulks_of(group: DeadLetterGroup) -> list[tuple[BulkAction, Progress]]:
    """Those that somebody let run and that did something, each with how far it is: two queries."""
    newest = BulkAction.objects.order_by("-pk").values("pk")[:LOOKED_AT]
    ran = BulkAction.objects.filter(pk__in=newest, started_at__isnull=False).exclude(state=State.DRAFT)
    ran = ran.exclude(state__in=(State.FINISHED, State.CANCELLED), done=0)
    about = Q(plan__group=group.pk) | _chosen("chosen", group.pk) | _chosen("undoes__chosen", group.pk)
    found = list(ran.filter(about).order_by("-pk")[:MOST])
    done = progress_of(found)
    return [(bulk, done[bulk.pk]) for bulk in found]


def _chosen(field: str, group_id: int) -> Q:
    """Whether a filter, kept as a query string, asked for this cause, and for no other whose number begins alike."""
    asks = f"group={group_id}"
    return (
        Q(**{field: asks})
        | Q(**{f"{field}__startswith": f"{asks}&"})
        | Q(**{f"{field}__endswith": f"&{asks}"})
        | Q(**{f"{field}__contains": f"&{asks}&"})
    )
