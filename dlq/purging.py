"""Deleting drained letters for good, with all that is theirs; what their groups counted is kept as a number.

A letter goes only if it is drained, and long enough, at the moment at which it is deleted: its row is locked first, and
then looked at. Whoever undoes a discard at that very moment either finds it gone, or keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from dlq.causes.counting import count_purged
from dlq.changing import SCHEDULER
from dlq.errors import InvalidAction
from dlq.export import instant
from dlq.models import DeadLetter
from dlq.retention import drained_ones, kept_since, least_kept_for
from jobops.audit.recording import Change, record
from tenants.services import Actor

BATCH = 500
"""Letters of a transaction: on SQLite nobody else writes meanwhile."""

_READ = ("pk", "state", "group_id", "tenant_id", "due_at")


def purge_due(limit: int = BATCH) -> int:
    """Purge one batch of what retention lets go, the one that was drained first at the head; answers how many went.

    Raises ``django.db.Error``, of a full disk for example: then nothing of the batch is gone.
    """
    before = kept_since()
    due = purgeable(before).order_by("drained_at", "pk")
    ids = list(due.values_list("pk", flat=True)[:limit])
    return _batch(ids, before, SCHEDULER, {}) if ids else 0


def purge(*, letters: QuerySet[DeadLetter], older_than: timedelta, by: Actor, chosen: str) -> Iterator[int]:
    """Purge those of the letters that have been drained for so long; answers, batch by batch, how many went.

    ``chosen`` says how they were, for the audit: a filter's query string, or nothing for all.
    Raises ``InvalidAction`` below the floor, and ``django.db.Error``: what earlier batches purged is gone.
    """
    check_age(older_than)
    return _batches(letters, timezone.now() - older_than, by, {"filter": chosen} if chosen else {})


def check_age(older_than: timedelta) -> None:
    """Raises ``InvalidAction`` for an age below the floor."""
    least = least_kept_for()
    if older_than < least:
        raise InvalidAction("older_than", f"at least {least.days} days: what was drained later is kept, whoever asks")


def purgeable(before: datetime, letters: QuerySet[DeadLetter] | None = None) -> QuerySet[DeadLetter]:
    """Those of the letters (None: of all) that were drained before this instant."""
    whole = DeadLetter.objects.all() if letters is None else letters
    return drained_ones(whole).filter(drained_at__lt=before)


def _batches(letters: QuerySet[DeadLetter], before: datetime, by: Actor, told: Mapping[str, str]) -> Iterator[int]:
    last = 0
    while ids := list(
        purgeable(before, letters).filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:BATCH]
    ):
        yield _batch(ids, before, by, told)
        last = ids[-1]


def _batch(ids: Sequence[int], before: datetime, by: Actor, told: Mapping[str, str]) -> int:
    with transaction.atomic():
        # Locked as for a deletion, in the order in which everybody takes letters; the conditions are asked once more
        # of each row when its lock is there.
        still = purgeable(before).filter(pk__in=ids).order_by("pk").only(*_READ)
        letters = list(still.select_for_update())
        if not letters:
            return 0
        _, deleted = DeadLetter.objects.filter(pk__in=[letter.pk for letter in letters]).only("pk").delete()
        if deleted[DeadLetter._meta.label] != len(letters):
            raise RuntimeError("letters were deleted during a purge: they were not locked")
        what = {"letters": len(letters), "drained_before": instant(before), **told}
        record(by, Change("letter.purge", "purge", "letters", after=what))
        count_purged(letters)
    return len(letters)
