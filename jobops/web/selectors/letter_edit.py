"""What a letter's page, and the pages of its editing, say about other arguments and other types of its replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count

from dlq.editing import Edit, Editable
from dlq.edits import Changed, changes_of
from dlq.models import BulkAction, BulkMember, DeadLetter, DeadLetterGroup, Redirect, State
from dlq.redirects import type_of
from jobops.contracts import registry
from jobops.web.selectors.letter_buttons import refusal
from tenants.access import Allowed, AnyUser, can, masked, sees_all
from tenants.models import Tenant
from tenants.roles import Action

MOST_REDIRECTED = 5


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One argument that an edit changes; ``note``: what is worth a second look, in words."""

    changed: Changed
    note: str = ""


@dataclass(frozen=True, slots=True)
class Led:
    """Letters of a type that is not registered. ``redirect`` None: none leads them anywhere; ``runs`` is whether what
    it leads to is registered. ``count``: how many, where many are meant."""

    name: str
    redirect: Redirect | None
    runs: bool = False
    count: int = 0


def may_edit(user: AnyUser, tenant: Tenant | None) -> Allowed:
    """Whether this person may replay a letter of this tenant with other arguments: a right of its own."""
    for action in (Action.REPLAY, Action.EDIT_PAYLOAD):
        allowed = can(user, action, tenant)
        if not allowed:
            return Allowed(False, refusal(user, allowed))
    return Allowed(True)


def edit_button(user: AnyUser, letter: DeadLetter) -> Allowed | None:
    """Whether the button can be pressed, and why not; None: it is not shown (the letter is not open, or the person is
    none of our team, for whom this is no tool)."""
    if letter.state != State.OPEN or not sees_all(user):
        return None
    allowed = may_edit(user, letter.tenant)
    if allowed and type_of(letter) is None:
        return Allowed(False, "Nobody here knows its job type, so that nobody knows which arguments it takes.")
    return allowed


def editable_of(user: AnyUser, letter: DeadLetter) -> Editable:
    """The letter for editing, masked as this person sees it. Raises ``NotReplayable``."""
    return Editable(letter, mask=masked(user, letter.tenant))


def change_lines(user: AnyUser, editable: Editable, edit: Edit) -> list[ChangeLine]:
    """What the edit changes, for the step before it is sent."""
    kinds, letter = editable.kinds(edit), editable.letter
    lines = []
    hide = masked(user, letter.tenant)
    for each in changes_of(letter, edit.payload, mask=hide, replaced=edit.replaced):
        was, now = kinds.get(each.name, ("", ""))
        note = f"was {was}, becomes {now}" if was else ""
        if each.now is None:
            note = "the job of today takes no such argument" if each.name in editable.left_over else "left out"
        lines.append(ChangeLine(each, note))
    return lines


def led(letter: DeadLetter) -> Led | None:
    """Where a redirect leads the letter, whose own type is not registered; None if that is."""
    return _led(letter.job_type)


def led_group(group: DeadLetterGroup) -> Led | None:
    """The same of a cause, while something of it is to be drained."""
    return _led(group.job_type) if group.undrained else None


def led_members(bulk: BulkAction) -> Sequence[Led]:
    """What of a replay's members runs as another type, most first; one query more if there is any redirect."""
    if bulk.kind != BulkAction.Kind.REPLAY:
        return ()
    rows = {row.from_type: row for row in Redirect.objects.all() if registry.resolve(row.from_type) is None}
    rows = {name: row for name, row in rows.items() if registry.resolve(row.to_type) is not None}
    if not rows:
        return ()
    members = BulkMember.objects.filter(bulk=bulk, state=BulkMember.State.WAITING, letter__state=State.OPEN)
    found = members.filter(letter__job_type__in=list(rows)).order_by().values_list("letter__job_type")
    counted = found.annotate(n=Count("pk")).order_by("-n", "letter__job_type")[:MOST_REDIRECTED]
    return [Led(name, rows[name], True, count) for name, count in counted]


def _led(name: str) -> Led | None:
    if not name or registry.resolve(name) is not None:
        return None
    row = Redirect.objects.filter(from_type=name).first()
    return Led(name, row, row is not None and registry.resolve(row.to_type) is not None)
