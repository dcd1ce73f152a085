"""Whose a dead letter is, and whether its clock runs: take, hand over, give back, pause. By POST only, for staff."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from dlq.access import get_letter
from dlq.clock.pausing import letter_clock_pause, letter_clock_resume
from dlq.errors import InvalidAction, LetterError, WrongState
from dlq.models import DeadLetter
from dlq.owners.assigning import letter_assign, letter_give_back, letter_take
from jobops.web.hands import hand_of
from jobops.web.places import return_path
from jobops.web.until import until_of
from jobops.web.views.group_actions import require, why
from jobops.web.views.letter import refused
from jobops.web.views.typed import stays
from tenants.roles import Action


@require_POST
def take(request: HttpRequest, letter_id: int) -> HttpResponse:
    """Has it be this person's."""
    return _act(request, letter_id, lambda pk: letter_take(letter_id=pk, by=request.user), "is yours")


@require_POST
def assign(request: HttpRequest, letter_id: int) -> HttpResponse:
    """Hands it on to a team, a person, or both."""

    def act(pk: int) -> object:
        hand = hand_of(request.POST)
        return letter_assign(letter_id=pk, by=request.user, owner=hand.owner, assignee=hand.assignee)

    return _act(request, letter_id, act, "was handed over")


@require_POST
def give_back(request: HttpRequest, letter_id: int) -> HttpResponse:
    """Lets its cause or the rules decide again whose it is."""
    return _act(
        request, letter_id, lambda pk: letter_give_back(letter_id=pk, by=request.user), "is where the rules put it"
    )


@require_POST
def clock_pause(request: HttpRequest, letter_id: int) -> HttpResponse:
    """Stops its drain clock for a while."""

    def act(pk: int) -> object:
        until = until_of(request.POST, "for", timezone.now())
        return letter_clock_pause(letter_id=pk, by=request.user, reason=request.POST.get("reason", ""), until=until)

    return _act(request, letter_id, act, "waits: its clock is paused")


@require_POST
def clock_resume(request: HttpRequest, letter_id: int) -> HttpResponse:
    """Lets it go on now."""
    return _act(
        request, letter_id, lambda pk: letter_clock_resume(letter_id=pk, by=request.user), "goes on: its clock runs"
    )


def _act(request: HttpRequest, letter_id: int, act: Callable[[int], object], done: str) -> HttpResponse:
    # Before it is looked for: whoever may not learns nothing of which there are.
    require(request, Action.ASSIGN)
    letter = get_letter(request.user, letter_id)
    try:
        act(letter.pk)
    except DeadLetter.DoesNotExist:
        raise Http404("No such dead letter.") from None
    except LetterError as error:
        told = f"No. {letter.pk}: {error.why}." if isinstance(error, WrongState) else why(error)
        messages.error(request, f"Nothing was changed. {told}")
        if isinstance(error, InvalidAction) and stays(request, reverse("letter", args=[letter.pk])):
            return refused(request, letter.pk)
    else:
        messages.success(request, f"No. {letter.pk} {done}.")
    return redirect(return_path(request, reverse("letter", args=[letter.pk])))
