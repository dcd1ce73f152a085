"""What becomes of outbox rows other than being pushed: parked, let go again, cancelled, forgotten."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Q, QuerySet
from django.utils import timezone

from jobops.context import holds
from jobops.context.models import OutboxEntry

log = logging.getLogger("jobops.outbox")

UNKNOWN_AFTER = timedelta(hours=23)
"""Redis remembers a pushed id for 24 h; the hour between is for clocks that differ and a push on its way."""
KEEP_ENDED = timedelta(hours=24)


def rows() -> QuerySet[OutboxEntry]:
    """All of them."""
    return OutboxEntry.objects.using(DEFAULT_DB_ALIAS)


def waiting() -> QuerySet[OutboxEntry]:
    """Those that are to be pushed."""
    return rows().filter(state=OutboxEntry.State.WAITING)


def park_unknown() -> int:
    """Park the rows whose push may have arrived so long ago that Redis has forgotten the id. Answers how many."""
    lost = waiting().filter(first_pushed_at__lt=timezone.now() - UNKNOWN_AFTER)
    parked = lost.update(state=OutboxEntry.State.PARKED, parked_as=OutboxEntry.Parked.OUTCOME_UNKNOWN, claim_token="")
    if parked:
        log.error("%d outbox row(s) parked: pushed over a day ago, and nobody knows whether they arrived", parked)
    return parked


def unpark(job_id: str) -> bool:
    """A person decides that a parked row is pushed again, from scratch. False when it is not parked."""
    parked = rows().filter(pk=job_id, state=OutboxEntry.State.PARKED)
    return bool(
        parked.update(
            state=OutboxEntry.State.WAITING,
            parked_as="",
            attempts=0,
            first_pushed_at=None,
            claim_token="",
            next_try_at=timezone.now(),
        )
    )


def cancel(chosen: QuerySet[OutboxEntry]) -> int:
    """Cancel those of the rows that nobody is pushing at this moment; answers how many."""
    idle = Q(claim_token="") | Q(next_try_at__lte=timezone.now())
    return _end(chosen.filter(idle))


def give_up(chosen: QuerySet[OutboxEntry]) -> int:
    """Cancel those of the rows that have not ended, also what is being pushed; answers how many.

    For when Redis refuses their jobs anyway, as their tenant is gone.
    """
    return _end(chosen)


def _end(chosen: QuerySet[OutboxEntry]) -> int:
    alive = (OutboxEntry.State.WAITING, OutboxEntry.State.PARKED)
    return chosen.filter(state__in=alive).update(
        state=OutboxEntry.State.CANCELLED, ended_at=timezone.now(), parked_as="", claim_token=""
    )


def forget_ended(limit: int = 1000) -> int:
    """Delete rows that were coalesced or cancelled over a day ago. Parked ones stay until a person decides."""
    holds.forget()
    old = rows().filter(ended_at__lt=timezone.now() - KEEP_ENDED)
    ids = list(old.values_list("pk", flat=True)[:limit])
    return rows().filter(pk__in=ids).delete()[0] if ids else 0
