"""Other arguments for one replay, ``/dlq/<id>/edit/``: a form, what it would change, and then the replay. No script."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from dlq.access import get_letter
from dlq.editing import Edit, Editable, edit_refused
from dlq.errors import InvalidAction, LetterError, NotReplayable, WrongState
from dlq.models import DeadLetter, State
from dlq.second_run import second_run
from dlq.services import letter_replay_edited
from dlq.states import Event, why_not
from jobops.contracts.secret_values import DOTS
from jobops.web.edit_form import ARGUMENTS, FROM_START, Asked, asked_for, blank, sentence, title_of
from jobops.web.selectors.letter_edit import change_lines, editable_of, led, may_edit

SEEN_BEFORE = "it was replayed since you began: look at how that ended, then send it"


@require_safe
def page(request: HttpRequest, letter_id: int) -> HttpResponse:
    """The arguments in a form."""
    letter = _letter(request, letter_id)
    editable = _editable(request, letter)
    return editable if isinstance(editable, HttpResponse) else _form(request, editable, blank(editable))


@require_POST
def preview(request: HttpRequest, letter_id: int) -> HttpResponse:
    """What the form would change; with ``again``, the form as it was filled in."""
    letter = _letter(request, letter_id)
    editable = _editable(request, letter)
    if isinstance(editable, HttpResponse):
        return editable
    asked = asked_for(request.POST, editable)
    found = _edit(request, editable, asked)
    if isinstance(found, Asked):
        return _form(request, editable, found, status=422)
    if request.POST.get("again"):
        return _form(request, editable, asked)
    return render(request, "letter_edit/preview.html", _shared(editable, asked) | _changes(request, editable, found))


@require_POST
def send(request: HttpRequest, letter_id: int) -> HttpResponse:
    """Sends the job back to run with these arguments."""
    letter = _letter(request, letter_id)
    editable = _editable(request, letter)
    if isinstance(editable, HttpResponse):
        return editable
    asked = asked_for(request.POST, editable)
    found = _edit(request, editable, asked)
    if isinstance(found, Asked):
        return _form(request, editable, found, status=422)
    if asked.seen is not None and asked.seen != letter.replays:
        return _form(request, editable, asked.with_problem(ARGUMENTS, SEEN_BEFORE), status=409)
    try:
        from_start = asked.begin == FROM_START
        letter_replay_edited(letter_id=letter.pk, by=request.user, edit=found, from_start=from_start)
    except DeadLetter.DoesNotExist:
        raise Http404("No such dead letter.") from None
    except (NotReplayable, WrongState) as error:
        messages.error(request, f"Nothing was changed. {sentence(error.why)}")
    else:
        text = f"No. {letter.pk} was sent back to run with other arguments, this once."
        messages.success(request, text)
    return redirect("letter", letter.pk)


def _letter(request: HttpRequest, letter_id: int) -> DeadLetter:
    """The letter, if this person may see it (else ``Http404``) and edit its arguments (else ``PermissionDenied``)."""
    letter = get_letter(request.user, letter_id)
    allowed = may_edit(request.user, letter.tenant)
    if not allowed:
        raise PermissionDenied(allowed.reason)
    return letter


def _editable(request: HttpRequest, letter: DeadLetter) -> Editable | HttpResponse:
    """The letter for editing; one that cannot be replayed now leads back to its page, which says why."""
    try:
        if letter.state != State.OPEN:
            raise WrongState(letter.pk, letter.state, why_not(letter.state, Event.REPLAY))
        return editable_of(request.user, letter)
    except (NotReplayable, WrongState) as error:
        messages.error(request, f"Its arguments cannot be edited: {error.why}.")
        return redirect("letter", letter.pk)


def _edit(request: HttpRequest, editable: Editable, asked: Asked) -> Edit | Asked:
    """The edit, or the form with what is wrong. What is no argument is refused, and the attempt recorded."""
    if asked.strange:
        edit_refused(letter=editable.letter, by=request.user, names=asked.strange)
        return asked.with_problem(ARGUMENTS, "only arguments can be edited; the attempt is in the audit")
    if asked.problems:
        return asked
    try:
        return editable.edit(asked.given)
    except InvalidAction as error:
        return asked.with_problem(error.field, error.problem)
    except LetterError as error:
        return asked.with_problem(ARGUMENTS, str(error))


def _form(request: HttpRequest, editable: Editable, asked: Asked, status: int = 200) -> HttpResponse:
    return render(request, "letter_edit/page.html", _shared(editable, asked), status=status)


def _shared(editable: Editable, asked: Asked) -> dict[str, Any]:
    letter = editable.letter
    return {
        "letter": letter,
        "job_type": editable.job_type,
        "has_guard": editable.job_type.guard is not None,
        "left_over": editable.left_over,
        "led": led(letter),
        "asked": asked,
        "title": title_of(editable),
        "second_run": second_run(letter),
        "dots": DOTS,
    }


def _changes(request: HttpRequest, editable: Editable, edit: Edit) -> dict[str, Any]:
    return {"changes": change_lines(request.user, editable, edit)}
