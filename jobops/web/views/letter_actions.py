"""What people do with one dead letter: replay it, discard it, take that back, cancel the replay. By POST only."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST
from redis.exceptions import RedisError

from dlq.access import get_letter
from dlq.errors import InvalidAction, LetterError, NotReplayable, WrongState
from dlq.models import DeadLetter
from dlq.services import letter_discard, letter_replay, letter_undo
from dlq.watch import watch_soon
from jobops.audit.recording import Change, record
from jobops.runtime import cancelling
from jobops.web.discard_reasons import reason_of
from jobops.web.places import return_path
from jobops.web.selectors.letter_buttons import refusal
from tenants.access import can, sees_all
from tenants.roles import Action

FROM_START = "start"
"""What the field `begin` says when a replay is not to resume at its checkpoint."""

NOT_CANCELLED = {
    "started": "It has started already, and a job that runs is not cancelled.",
    "ended": "It has ended already.",
    "not_found": "Its job is not there any more; the letter opens again by itself within a minute or two.",
}
OWN_NOT_CANCELLED = NOT_CANCELLED | {
    "started": "It has started already, and what runs is not stopped.",
    "not_found": "It is not there any more; within a minute or two this job is back among those that did not work.",
}


@require_POST
def replay(request: HttpRequest, letter_id: int) -> HttpResponse:
    """Sends the job back to run."""
    letter = _letter(request, letter_id, Action.REPLAY)
    from_start = request.POST.get("begin") == FROM_START
    done = ("{} was sent back to run.", "{} is being tried again.")
    if letter.checkpoint:
        where = "from the beginning" if from_start else "where it was"
        done = (f"{{}} was sent back to run, {where}.", f"{{}} is being tried again, {where}.")
    return _act(
        request,
        letter,
        lambda: letter_replay(letter_id=letter.pk, by=request.user, from_start=from_start),
        done,
    )


@require_POST
def discard(request: HttpRequest, letter_id: int) -> HttpResponse:
    """Closes the letter for a reason; that can be taken back."""
    letter = _letter(request, letter_id, Action.DISCARD)
    reason = reason_of(request.POST)
    done = ("{} was discarded.", "{} was given up.")
    return _act(
        request,
        letter,
        lambda: letter_discard(letter_id=letter.pk, by=request.user, reason=reason),
        done,
        tags=f"undo:letter:{letter.pk}",
    )


@require_POST
def undo(request: HttpRequest, letter_id: int) -> HttpResponse:
    """Opens a discarded letter again."""
    letter = _letter(request, letter_id, Action.UNDO)
    done = ("{} is open again, its deadline as before.", "{} is not given up any more.")
    return _act(request, letter, lambda: letter_undo(letter_id=letter.pk, by=request.user), done)


@require_POST
def cancel(request: HttpRequest, letter_id: int) -> HttpResponse:
    """Takes the replay's job out of its queue, if it has not started; the letter opens again by itself."""
    letter, staff = _letter(request, letter_id, Action.CANCEL), sees_all(request.user)
    try:
        answer = _cancel(request, letter)
    except RedisError:  # its text may name hosts and passwords
        messages.error(request, "Nothing was changed: Redis cannot be reached.")
    else:
        if answer == "cancelled":
            done = f"The replay of No. {letter.pk} was cancelled, which opens it again."
            messages.success(request, done if staff else "The new try was stopped.")
        else:
            messages.error(request, f"Nothing was changed. {(NOT_CANCELLED if staff else OWN_NOT_CANCELLED)[answer]}")
    return redirect(_back(request, letter))


def _cancel(request: HttpRequest, letter: DeadLetter) -> str:
    if not letter.replay_job_id:
        return "not_found"
    answer = cancelling.cancel(letter.replay_job_id, tenant=letter.tenant.slug if letter.tenant else None)
    if answer == "cancelled":
        with transaction.atomic():
            change = Change(
                "letter.cancel", "letter", letter.pk, letter.tenant_id, letter.tenant_slug,
                after={"job": letter.replay_job_id},
            )  # fmt: skip
            record(request.user, change)
            watch_soon(letter.replay_job_id)
    return answer


def _letter(request: HttpRequest, letter_id: int, action: Action) -> DeadLetter:
    """The letter, if this person may see it (else ``Http404``) and do this to it (else ``PermissionDenied``)."""
    letter = get_letter(request.user, letter_id)
    allowed = can(request.user, action, letter.tenant)
    if not allowed:
        raise PermissionDenied(refusal(request.user, allowed))
    return letter


def _act(
    request: HttpRequest, letter: DeadLetter, act: Callable[[], object], done: tuple[str, str], tags: str = ""
) -> HttpResponse:
    """``done``: what is said afterwards, to staff and to a tenant's people."""
    staff = sees_all(request.user)
    try:
        act()
    except DeadLetter.DoesNotExist:
        raise Http404("No such dead letter.") from None
    except LetterError as error:
        messages.error(request, f"Nothing was changed. {_why(error, staff=staff)}")
    else:
        name = f"No. {letter.pk}" if staff else "The job"
        messages.success(request, done[0 if staff else 1].format(name), extra_tags=tags)
    return redirect(_back(request, letter))


def _why(error: LetterError, *, staff: bool) -> str:
    if isinstance(error, InvalidAction):
        return f"{error.problem[:1].upper()}{error.problem[1:]}."
    if isinstance(error, NotReplayable | WrongState):
        if not staff and isinstance(error, NotReplayable):
            return "It cannot be tried again as it is. Our team looks after it."
        return f"No. {error.letter_id}: {error.why}." if staff else f"The job is {error.why}."
    return f"{error}."


def _back(request: HttpRequest, letter: DeadLetter) -> str:
    """Where the person was; the letter's own page where that cannot be told."""
    return return_path(request, reverse("letter", args=[letter.pk]))
