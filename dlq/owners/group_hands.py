"""A whole group: taken, handed on, given back. At once for what dies from now on; its letters follow in batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dlq.errors import InvalidAction
from dlq.models import DeadLetterGroup, LetterChange
from dlq.owners.hands import UNSET, Unset, check_free, taker, told, wanted
from dlq.owners.redeciding import redecide_groups
from dlq.owners.spreading import change_begin, change_run
from dlq.owners.turn import while_changing
from jobops.audit.recording import Change, difference, record
from tenants.services import Actor

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GroupChanged:
    """A group as it is now. ``letters``: how many of its letters follow already; ``going_on``: more will, by a duty."""

    group: DeadLetterGroup
    letters: int
    going_on: bool


def group_take(*, group_id: int, by: Actor) -> GroupChanged:
    """Have the group, with all its letters that no person has singly, be this person's; its team stays.

    Raises ``InvalidAction`` when another person has it, or ``DeadLetterGroup.DoesNotExist``.
    """
    person = taker(by)

    def fields(group: DeadLetterGroup) -> Fields:
        check_free(group.assignee, person)
        return wanted(by=by, owner=None, assignee=person, tenant=None, whole=True)

    return _change(group_id, by, "group.take", fields)


def group_assign(
    *, group_id: int, by: Actor, owner: str | None = None, assignee: User | Unset | None = UNSET
) -> GroupChanged:
    """Hand the group on to a team, a person, or both; what is not given stays. ``assignee=None``: to nobody.

    Raises ``InvalidAction`` (field ``owner`` or ``assignee``) for whom nobody knows or who cannot see it, or
    ``DeadLetterGroup.DoesNotExist``.
    """
    return _change(
        group_id,
        by,
        "group.assign",
        lambda group: wanted(by=by, owner=owner, assignee=assignee, tenant=None, whole=True),
    )


def group_give_back(*, group_id: int, by: Actor) -> GroupChanged:
    """Take back what persons decided about the whole group: it and its letters are as the rules say.

    Raises ``InvalidAction`` when no person decided, or ``DeadLetterGroup.DoesNotExist``.
    """

    def fields(group: DeadLetterGroup) -> Fields:
        if not group.by_hand:
            raise InvalidAction("group", "nobody took it or handed it on: it is where the rules put it")
        return {"by_hand": False, "assignee": None}

    return _change(group_id, by, "group.give_back", fields)


def _change(group_id: int, by: Actor, action: str, fields: Callable[[DeadLetterGroup], Fields]) -> GroupChanged:
    with transaction.atomic():
        while_changing()
        group = DeadLetterGroup.objects.select_for_update(no_key=True).get(pk=group_id)
        before, is_new = told(group), _write(group, fields(group))
        if not is_new:
            return GroupChanged(group, 0, going_on=False)
        if not group.by_hand:
            redecide_groups([group.pk])
            group.refresh_from_db()
        was, now = difference(before, told(group))
        record(by, Change(action, "group", group.pk, before=was, after=now))
        change_id = change_begin(kind=LetterChange.Kind.OWNER, by=by, group_id=group.pk)
    # After the commit: whoever stores a letter of this group must not wait for all the others.
    change_run(change_id)
    change = LetterChange.objects.get(pk=change_id)
    return GroupChanged(group, change.changed, going_on=change.ended_at is None)


def _write(group: DeadLetterGroup, fields: Fields) -> bool:
    """Write what of it is new; answers whether anything is. Of a group only what is written is written: its counts
    are other people's business."""
    if all(getattr(group, name) == value for name, value in fields.items()):
        return False
    fields["assigned_at"] = timezone.now() if fields.get("assignee", group.assignee) is not None else None
    DeadLetterGroup.objects.filter(pk=group.pk).update(**fields)
    for name, value in fields.items():
        setattr(group, name, value)
    return True
