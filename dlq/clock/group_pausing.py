"""Pausing the drain clocks of all letters of a group, those included that die of its cause meanwhile."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from dlq.clock.group_batches import PAUSE, RESUME
from dlq.clock.pause_terms import clean_reason, clean_until
from dlq.clock.pauses import is_paused
from dlq.errors import InvalidAction
from dlq.models import DeadLetterGroup, LetterChange
from dlq.owners.spreading import change_begin, change_run
from dlq.owners.turn import while_changing
from jobops.audit.recording import Change, record
from tenants.services import Actor, actor_name

_FIELDS = ("clock_paused_at", "clock_paused_until", "clock_pause_reason", "clock_paused_by")


def group_clock_pause(*, group_id: int, by: Actor, reason: str, until: datetime) -> DeadLetterGroup:
    """Stop the clocks of a group's undrained letters until ``until``; of one that is paused already, move that time.

    The first letters change before this answers, the others by a duty soon after. A letter whose own clock somebody
    paused for longer keeps that pause; a shorter one becomes part of the group's, and ends with it.
    Raises ``InvalidAction`` (field ``reason`` or ``until``) or ``DeadLetterGroup.DoesNotExist``.
    """
    now = timezone.now()
    reason, until = clean_reason(reason), clean_until(until, now)
    with transaction.atomic():
        while_changing()  # the intake pauses new letters with their group
        group = _lock(group_id)
        before = _facts(group)
        group.clock_paused_at = group.clock_paused_at if is_paused(group, now) else now
        group.clock_paused_until, group.clock_pause_reason = until, reason
        group.clock_paused_by = actor_name(by)
        what = {"do": PAUSE, "until": until.isoformat(), "reason": reason}
        change = _spread(group, what, now, by)
        _save(group, before, by, "group.clock_pause", reason)
    change_run(change)
    group.refresh_from_db()
    return group


def group_clock_resume(*, group_id: int, by: Actor) -> DeadLetterGroup:
    """Let the clocks of a paused group go on now; the letters as in ``group_clock_pause``.

    Raises ``InvalidAction`` when it is not paused, or ``DeadLetterGroup.DoesNotExist``.
    """
    now = timezone.now()
    with transaction.atomic():
        while_changing()  # the intake pauses new letters with their group
        group = _lock(group_id)
        if not is_paused(group, now):
            raise InvalidAction("clock", "it is not paused")
        before, reason = _facts(group), group.clock_pause_reason
        change = _spread(group, {"do": RESUME}, now, by)
        group.clock_paused_at, group.clock_paused_until = None, None
        group.clock_pause_reason, group.clock_paused_by = "", ""
        _save(group, before, by, "group.clock_resume", reason)
    change_run(change)
    group.refresh_from_db()
    return group


def _lock(group_id: int) -> DeadLetterGroup:
    return DeadLetterGroup.objects.select_for_update(no_key=True).get(pk=group_id)


def _spread(group: DeadLetterGroup, what: dict[str, str], now: datetime, by: Actor) -> int:
    """Note the change of its letters. What was begun before ends here: or, half done, it would go on after this."""
    going_on = LetterChange.objects.filter(kind=LetterChange.Kind.CLOCK, group=group, ended_at__isnull=True)
    # Letters that it has not reached are known by its own time.
    known_by = sorted({time for change in going_on for time in (change.what["paused_at"], *change.what.get("was", ()))})
    going_on.update(ended_at=now)
    paused_at = group.clock_paused_at or now
    told = {**what, "at": now.isoformat(), "paused_at": paused_at.isoformat(), "was": known_by}
    return change_begin(kind=LetterChange.Kind.CLOCK, by=by, group_id=group.pk, what=told)


def _facts(group: DeadLetterGroup) -> dict[str, str | None]:
    until = group.clock_paused_until
    return {"paused_until": until.isoformat() if until else None}


def _save(group: DeadLetterGroup, before: dict[str, str | None], by: Actor, action: str, reason: str) -> None:
    group.save(update_fields=_FIELDS)
    after = _facts(group)
    record(by, Change(action, "group", group.pk, before=before, after=after, reason=reason))
