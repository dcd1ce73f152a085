"""What people do with one cause: acknowledge, snooze, take, hand over, note, pause its clock. By POST only.

A cause is everybody's: all of this is for our staff.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from dlq.access import get_group
from dlq.causes.states import group_acknowledge, group_activate, group_link, group_note, group_snooze
from dlq.clock.group_pausing import group_clock_pause, group_clock_resume
from dlq.errors import InvalidAction, LetterError, WrongGroupState
from dlq.models import DeadLetterGroup
from dlq.owners.assigning import GroupChanged, group_assign, group_give_back, group_take
from jobops.web.formats import plural
from jobops.web.hands import hand_of
from jobops.web.places import return_path
from jobops.web.snoozing import snooze_of
from jobops.web.until import until_of
from jobops.web.views.group import refused
from jobops.web.views.typed import stays
from tenants.access import can
from tenants.roles import Action

FIELDS = {
    "ticket_url": "Ticket", "runbook_url": "Runbook", "grows_by": "By how many deaths it may grow", "reason": "Why",
    "until": "Until", "text": "Note",
}  # fmt: skip
"""What fields are called on the page."""


@require_POST
def acknowledge(request: HttpRequest, group_id: int) -> HttpResponse:
    """Says that somebody knows of it."""
    note = request.POST.get("note", "")
    return _act(
        request,
        group_id,
        Action.ACKNOWLEDGE,
        lambda pk: group_acknowledge(group_id=pk, by=request.user, note=note),
        "The cause is acknowledged.",
    )


@require_POST
def activate(request: HttpRequest, group_id: int) -> HttpResponse:
    """Takes up again what was acknowledged or snoozed."""
    return _act(
        request,
        group_id,
        Action.ACKNOWLEDGE,
        lambda pk: group_activate(group_id=pk, by=request.user),
        "The cause is active again.",
    )


@require_POST
def snooze(request: HttpRequest, group_id: int) -> HttpResponse:
    """Puts it aside until a time, until it grows, or until another tenant is hit."""

    def act(pk: int) -> object:
        return group_snooze(group_id=pk, by=request.user, **snooze_of(request.POST, timezone.now()))

    return _act(request, group_id, Action.ACKNOWLEDGE, act, "The cause is snoozed.")


@require_POST
def note(request: HttpRequest, group_id: int) -> HttpResponse:
    """Writes down what others should know about it."""
    text = request.POST.get("text", "")
    return _act(
        request,
        group_id,
        Action.ACKNOWLEDGE,
        lambda pk: group_note(group_id=pk, by=request.user, text=text),
        "The note is kept.",
    )


@require_POST
def link(request: HttpRequest, group_id: int) -> HttpResponse:
    """Sets its links, to a ticket and to a runbook."""
    links = {name: request.POST.get(name) for name in ("ticket_url", "runbook_url")}
    return _act(
        request,
        group_id,
        Action.ACKNOWLEDGE,
        lambda pk: group_link(group_id=pk, by=request.user, **links),
        "The links are kept.",
    )


@require_POST
def take(request: HttpRequest, group_id: int) -> HttpResponse:
    """Has the cause with all its letters be this person's."""
    return _act(request, group_id, Action.ASSIGN, lambda pk: group_take(group_id=pk, by=request.user), "It is yours")


@require_POST
def assign(request: HttpRequest, group_id: int) -> HttpResponse:
    """Hands it on to a team, a person, or both."""

    def act(pk: int) -> object:
        hand = hand_of(request.POST)
        return group_assign(group_id=pk, by=request.user, owner=hand.owner, assignee=hand.assignee)

    return _act(request, group_id, Action.ASSIGN, act, "It was handed over")


@require_POST
def give_back(request: HttpRequest, group_id: int) -> HttpResponse:
    """Lets the rules decide again whose it is."""
    return _act(
        request,
        group_id,
        Action.ASSIGN,
        lambda pk: group_give_back(group_id=pk, by=request.user),
        "It is where the rules put it",
    )


@require_POST
def clock_pause(request: HttpRequest, group_id: int) -> HttpResponse:
    """Stops the drain clocks of its letters for a while."""

    def act(pk: int) -> object:
        until = until_of(request.POST, "for", timezone.now())
        return group_clock_pause(group_id=pk, by=request.user, reason=request.POST.get("reason", ""), until=until)

    return _act(request, group_id, Action.ASSIGN, act, "The clock is paused.")


@require_POST
def clock_resume(request: HttpRequest, group_id: int) -> HttpResponse:
    """Lets them go on now."""
    return _act(
        request,
        group_id,
        Action.ASSIGN,
        lambda pk: group_clock_resume(group_id=pk, by=request.user),
        "The clock goes on.",
    )


def require(request: HttpRequest, action: Action) -> None:
    """Raises ``PermissionDenied`` unless this person may do it to what is everybody's."""
    allowed = can(request.user, action)
    if not allowed:
        raise PermissionDenied(allowed.reason)


def why(error: LetterError) -> str:
    """What was refused, as a sentence."""
    if isinstance(error, InvalidAction):
        # What is no sentence by itself needs to say of which field it is.
        bare = error.problem.startswith("must ") or error.problem[:1].isdigit()
        field = FIELDS.get(error.field, "") if bare else ""
        return f"{field}: {error.problem}." if field else f"{error.problem[:1].upper()}{error.problem[1:]}."
    return f"{error.why[:1].upper()}{error.why[1:]}." if isinstance(error, WrongGroupState) else f"{error}."


def _act(request: HttpRequest, group_id: int, action: Action, act: Callable[[int], object], done: str) -> HttpResponse:
    # Before it is looked for: whoever may not learns nothing of which there are.
    require(request, action)
    group = get_group(request.user, group_id)
    try:
        answer = act(group.pk)
    except DeadLetterGroup.DoesNotExist:
        raise Http404("No such group of dead letters.") from None
    except LetterError as error:
        messages.error(request, f"Nothing was changed. {why(error)}")
        if isinstance(error, InvalidAction) and stays(request, reverse("group", args=[group.pk])):
            return refused(request, group.pk)
    else:
        messages.success(request, f"{done}{_letters(answer)}" if isinstance(answer, GroupChanged) else done)
    return redirect(return_path(request, reverse("group", args=[group.pk])))


def _letters(changed: GroupChanged) -> str:
    """How many of its letters followed, after what was done."""
    if changed.going_on:
        return f"; {plural(changed.letters, 'dead letter')} followed so far, the others do soon."
    return f", with {plural(changed.letters, 'dead letter')}." if changed.letters else "."
