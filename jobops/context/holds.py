"""Holds: a tenant that Redis lets nothing in for waits as a whole, with one row, however many jobs it has.

Its rows in the outbox are left as they are. So a tenant that floods its own depth limit costs the same as one with a
single job too many, and its jobs go in the order in which they were asked for when there is room again.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Collection, Mapping
from datetime import timedelta

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from jobops.context.models import OutboxEntry, OutboxHold
from jobops.engine.errors import DepthExceeded, IntakeClosed

log = logging.getLogger("jobops.outbox")

TEMPORARY = (DepthExceeded, IntakeClosed)
"""Refusals that say something about the tenant and nothing about the job: it is let in some day."""
FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 30.0
FORGET_AFTER = timedelta(minutes=5)


def begin(refused: Mapping[str, Exception], progressed: Collection[str] = ()) -> None:
    """Hold these tenants, each for what it was refused for; one that is held at this moment is left as it is.

    Each further refusal makes the pause longer, but for the ``progressed``: something of theirs was taken in.
    """
    now = timezone.now()
    before = {hold.tenant: hold for hold in _holds().filter(tenant__in=list(refused))}
    begun: list[OutboxHold] = []
    for slug, error in refused.items():
        old = before.get(slug)
        if old is not None and old.until > now:
            continue
        refusals = 1 if old is None or slug in progressed else old.refusals + 1
        pause = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(refusals - 1, 16)) * random.uniform(0.75, 1.0)
        reason = type(error).__name__
        begun.append(
            OutboxHold(
                tenant=slug,
                until=now + timedelta(seconds=pause),
                refusals=refusals,
                reason=reason,
                since=old.since if old else now,
            )
        )
        if old is None or old.reason != reason:
            log.warning("the jobs of tenant %s wait in the outbox: %s", slug, error)
    if begun:
        _holds().bulk_create(
            begun, update_conflicts=True, unique_fields=["tenant"], update_fields=["until", "refusals", "reason"]
        )


def end(slugs: Collection[str]) -> None:
    """Redis takes jobs of these tenants. Whatever held one is over when the last of its rows has left: until then its
    hold, which lets them through, tells others not to pass them."""
    if not slugs:
        return
    rows = OutboxEntry.objects.using(DEFAULT_DB_ALIAS).filter(
        state=OutboxEntry.State.WAITING, tenant=OuterRef("tenant")
    )
    for hold in _holds().filter(tenant__in=list(slugs)).annotate(has_rows=Exists(rows)):
        if hold.has_rows:
            _holds().filter(pk=hold.pk).update(until=timezone.now())
        else:
            log.info("the jobs of tenant %s flow again, after %s", hold.tenant, timezone.now() - hold.since)
            hold.delete()


def held_among(slugs: Collection[str]) -> set[str]:
    """Those tenants whose jobs wait for room, or are on their way since there is some."""
    return set(_holds().filter(tenant__in=slugs).values_list("tenant", flat=True))


def forget() -> None:
    """Delete what is over and was not followed by a try: the rows were cancelled."""
    _holds().filter(until__lt=timezone.now() - FORGET_AFTER).delete()


def _holds() -> QuerySet[OutboxHold]:
    return OutboxHold.objects.using(DEFAULT_DB_ALIAS)
