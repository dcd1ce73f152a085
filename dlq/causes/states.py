"""What people decide about a cause: acknowledge, snooze, take up again; notes and links. Callers ask
``tenants.access.can`` before.

A group is nobody's tenant's alone: what is done here holds for all, and is for staff.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from dlq.causes.links import clean_link
from dlq.causes.waking import STATE_FIELDS, GroupState, set_state
from dlq.errors import InvalidAction, WrongGroupState
from dlq.locking import lock_groups
from dlq.models import DeadLetterGroup, GroupNote
from dlq.text import visible
from jobops.audit.recording import Change, record
from tenants.services import Actor, actor_name

LONGEST_SNOOZE = timedelta(days=90)
MOST_GROWTH = 1_000_000
NOTE_LENGTH = 5_000

NOTHING_LEFT = "it is drained: nothing of it is left to be done"


def group_acknowledge(*, group_id: int, by: Actor, note: str = "") -> DeadLetterGroup:
    """Say that somebody knows: it stays so while deaths go on, until it is drained or taken up again.

    Raises ``InvalidAction`` for a note that is too long, ``WrongGroupState`` for one that is acknowledged or drained
    already, or ``DeadLetterGroup.DoesNotExist``.
    """
    text = _clean_note(note) if note.strip() else ""
    with transaction.atomic():
        group = _lock(group_id)
        if group.state == GroupState.ACKNOWLEDGED:
            raise WrongGroupState(group_id, group.state, f"{group.state_by} has acknowledged it already")
        before = _facts(group)
        _move(group, GroupState.ACKNOWLEDGED, by)
        _record(by, group, "group.acknowledge", before, reason=text)
        if text:
            _add_note(group, by, text)
    return group


def group_snooze(
    *,
    group_id: int,
    by: Actor,
    until: datetime | None = None,
    grows_by: int | None = None,
    another_tenant: bool = False,
) -> DeadLetterGroup:
    """Put it aside until a time, until so many more deaths, or until another tenant is hit; of several, what comes
    first. One that is snoozed already is snoozed anew.

    Raises ``InvalidAction`` (field ``until``, ``grows_by``, or ``snooze`` when none is given), ``WrongGroupState``
    for a drained one, or ``DeadLetterGroup.DoesNotExist``.
    """
    if until is None and grows_by is None and not another_tenant:
        raise InvalidAction("snooze", "say until when: a time, so many more deaths, or another tenant")
    until = _clean_until(until)
    if grows_by is not None and not 1 <= grows_by <= MOST_GROWTH:
        raise InvalidAction("grows_by", f"must be a whole number from 1 to {MOST_GROWTH:,}")
    with transaction.atomic():
        group = _lock(group_id)
        before = _facts(group)
        set_state(group, GroupState.SNOOZED, at=timezone.now(), by=actor_name(by))
        group.snoozed_until = until
        group.snoozed_to_deaths = group.deaths + grows_by if grows_by is not None else None
        group.snoozed_to_tenants = group.tenants + 1 if another_tenant else None
        group.save(update_fields=STATE_FIELDS)
        _record(by, group, "group.snooze", before)
    return group


def group_activate(*, group_id: int, by: Actor) -> DeadLetterGroup:
    """Take up again what was acknowledged or snoozed.

    Raises ``WrongGroupState`` for one that is active or drained, or ``DeadLetterGroup.DoesNotExist``.
    """
    with transaction.atomic():
        group = _lock(group_id)
        if group.state == GroupState.ACTIVE:
            raise WrongGroupState(group_id, group.state, "it is active already")
        before = _facts(group)
        _move(group, GroupState.ACTIVE, by)
        _record(by, group, "group.activate", before)
    return group


def group_note(*, group_id: int, by: Actor, text: str) -> GroupNote:
    """Write something down about the cause, whatever state it is in; it survives every replay.

    Raises ``InvalidAction`` for a text that is blank or too long, or ``DeadLetterGroup.DoesNotExist``.
    """
    cleaned = _clean_note(text)
    with transaction.atomic():
        group = DeadLetterGroup.objects.only("pk").get(pk=group_id)
        note = _add_note(group, by, cleaned)
        change = Change("group.note", "group", group_id, after={"note": note.pk}, reason=cleaned)
        record(by, change)
    return note


def group_link(
    *, group_id: int, by: Actor, ticket_url: str | None = None, runbook_url: str | None = None
) -> DeadLetterGroup:
    """Set its links; ``None`` leaves one as it is, an empty text takes it away.

    Raises ``InvalidAction`` (field ``ticket_url`` or ``runbook_url``), or ``DeadLetterGroup.DoesNotExist``.
    """
    given = {"ticket_url": ticket_url, "runbook_url": runbook_url}
    links = {name: clean_link(name, value) for name, value in given.items() if value is not None}
    with transaction.atomic():
        group = _lock(group_id, drained_too=True)
        before = {name: getattr(group, name) for name in links}
        changed = {name: value for name, value in links.items() if before[name] != value}
        if changed:
            for name, value in changed.items():
                setattr(group, name, value)
            group.save(update_fields=list(changed))
            was = {name: before[name] for name in changed}
            record(by, Change("group.link", "group", group_id, before=was, after=changed))
    return group


def _lock(group_id: int, *, drained_too: bool = False) -> DeadLetterGroup:
    groups = lock_groups([group_id])
    if not groups:
        raise DeadLetterGroup.DoesNotExist(f"There is no group {group_id}.")
    group = groups[0]
    if group.state == GroupState.DRAINED and not drained_too:
        raise WrongGroupState(group_id, group.state, NOTHING_LEFT)
    return group


def _move(group: DeadLetterGroup, state: str, by: Actor) -> None:
    set_state(group, state, at=timezone.now(), by=actor_name(by))
    group.save(update_fields=STATE_FIELDS)


def _facts(group: DeadLetterGroup) -> dict[str, Any]:
    facts: dict[str, Any] = {"state": str(group.state)}
    if group.snoozed_until is not None:
        facts["until"] = group.snoozed_until.isoformat()
    if group.snoozed_to_deaths is not None:
        facts["to_deaths"] = group.snoozed_to_deaths
    if group.snoozed_to_tenants is not None:
        facts["to_tenants"] = group.snoozed_to_tenants
    return facts


def _record(by: Actor, group: DeadLetterGroup, action: str, before: dict[str, Any], reason: str = "") -> None:
    record(by, Change(action, "group", group.pk, before=before, after=_facts(group), reason=reason))


def _add_note(group: DeadLetterGroup, by: Actor, text: str) -> GroupNote:
    return GroupNote.objects.create(group=group, by=actor_name(by), text=text)


def _clean_note(text: str) -> str:
    cleaned = visible(text).strip()
    if not cleaned:
        raise InvalidAction("text", "write what those who meet it next should know")
    if len(cleaned) > NOTE_LENGTH:
        raise InvalidAction("text", f"{len(cleaned):,} characters are too many; at most {NOTE_LENGTH:,}")
    return cleaned


def _clean_until(until: datetime | None) -> datetime | None:
    if until is None:
        return None
    if timezone.is_naive(until):
        raise InvalidAction("until", "the time needs its zone")
    now = timezone.now()
    if until <= now:
        raise InvalidAction("until", "must be a time that is still to come")
    if until - now > LONGEST_SNOOZE:
        raise InvalidAction("until", f"a cause is snoozed for {LONGEST_SNOOZE.days} days at most")
    # PostgreSQL takes no offset of many hours.
    return until.astimezone(UTC)
