"""Changes of many letters, in batches: the first ones while the person waits, the others by a duty.

Nobody is held up for longer than one batch takes. A batch is committed with the place up to which it went, so that
whoever goes on, after a kill too, goes on from there; two at once are as right as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone

from dlq.causes.counting import refresh_due
from dlq.clock.group_batches import clock_batch
from dlq.models import UNDRAINED, DeadLetter, DeadLetterGroup, LetterChange
from dlq.owners.redeciding import redecide, redecide_groups
from tenants.services import Actor, actor_name

BATCH = 500
INLINE = 5_000
"""So many letters are changed while the person who asked for it waits."""

_LONG = ("payload", "payload_raw", "error", "traceback", "history", "checkpoint")
"""What is long in a letter, and no change of many looks at."""

BATCHES: dict[str, Callable[[LetterChange, Sequence[DeadLetter]], int]] = {
    LetterChange.Kind.OWNER.value: redecide,
    LetterChange.Kind.CLOCK.value: clock_batch,
}
"""Kind → what changes a batch.

It gets the change and undrained letters, locked, by id, without their long fields; changes and writes them in the
transaction that it is called in; and answers how many it changed. It must be right to do twice. The due times of their
groups follow.
"""


_GROUPS_AFTER = "groups_after"
"""In ``what`` of a change of all owners: its letters are done, and the groups up to this id."""


class _Overtaken(Exception):
    """Somebody else did this batch."""


def change_begin(*, kind: str, by: Actor, group_id: int | None = None, what: Mapping[str, Any] | None = None) -> int:
    """Note a change of all undrained letters that there are now, of a group or (None) of all; answers its id.

    In the caller's transaction; ``change_run`` after its commit begins the work. One of the owners that still goes on
    for the same letters ends: this one does what was left of it.
    """
    newest = DeadLetter.objects.aggregate(newest=Max("pk"))["newest"] or 0
    if kind == LetterChange.Kind.OWNER:
        going_on = LetterChange.objects.filter(kind=kind, group_id=group_id, ended_at__isnull=True)
        going_on.update(ended_at=timezone.now())
    change = LetterChange.objects.create(
        kind=kind, group_id=group_id, what=dict(what or {}), upto_id=newest, by=actor_name(by)
    )
    return change.pk


def change_run(change_id: int, limit: int = INLINE) -> int:
    """Change its next letters, at most about ``limit``; answers how many it looked at. 0: it is done.

    Each batch in a transaction of its own. Raises ``django.db.Error``: what is committed stays.
    """
    seen = 0
    while seen < limit and (looked := _batch(change_id, min(BATCH, limit - seen))):
        seen += looked
    return seen


def run_changes(limit: int = BATCH) -> int:
    """Go on with what other processes began, the oldest first; answers how many letters were looked at."""
    change = LetterChange.objects.filter(ended_at__isnull=True).order_by("pk").values_list("pk", flat=True).first()
    return change_run(change, limit) if change is not None else 0


def _batch(change_id: int, limit: int) -> int:
    change = LetterChange.objects.filter(pk=change_id, ended_at__isnull=True).first()
    if change is None:
        return 0
    try:
        with transaction.atomic():
            return _groups(change, limit) if _GROUPS_AFTER in change.what else _letters(change, limit)
    except _Overtaken:
        return limit


def _letters(change: LetterChange, limit: int) -> int:
    letters = DeadLetter.objects.filter(state__in=UNDRAINED, pk__gt=change.last_id, pk__lte=change.upto_id)
    if change.group_id is not None:
        letters = letters.filter(group=change.group_id)
    batch = list(letters.defer(*_LONG).select_for_update(no_key=True).order_by("pk")[:limit])
    changed = BATCHES[change.kind](change, batch) if batch else 0
    if changed:
        refresh_due(sorted({letter.group_id for letter in batch if letter.group_id is not None}))
    last = batch[-1].pk if batch else change.upto_id
    is_last = len(batch) < limit
    if is_last and change.kind == LetterChange.Kind.OWNER and change.group_id is None:
        _note(change, last_id=change.upto_id, changed=F("changed") + changed, what={**change.what, _GROUPS_AFTER: 0})
        return max(len(batch), 1)
    _note(change, last_id=last, changed=F("changed") + changed, ended_at=timezone.now() if is_last else None)
    return len(batch)


def _groups(change: LetterChange, limit: int) -> int:
    """After the letters, the groups themselves: those that no person has."""
    after = change.what[_GROUPS_AFTER]
    ids = list(DeadLetterGroup.objects.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:limit])
    redecide_groups(ids)
    what = {**change.what, _GROUPS_AFTER: ids[-1] if ids else after}
    _note(change, what=what, ended_at=timezone.now() if len(ids) < limit else None)
    return len(ids)


def _note(change: LetterChange, **fields: Any) -> None:
    """Move the place. By compare-and-set: of two that did the same batch, one counts and the other is undone."""
    place = LetterChange.objects.filter(pk=change.pk, last_id=change.last_id, ended_at__isnull=True)
    if not place.update(**fields):
        raise _Overtaken
