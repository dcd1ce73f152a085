"""What is done with several ticked causes at once, and with all their dead letters. By POST only."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from dlq.access import groups_visible_to, letters_visible_to
from dlq.bulk import TICKED, bulk_draft
from dlq.causes.states import group_acknowledge, group_snooze
from dlq.errors import InvalidAction, LetterError
from dlq.models import BulkAction, DeadLetterGroup
from dlq.owners.assigning import group_assign, group_take
from jobops.web.formats import plural
from jobops.web.hands import hand_of
from jobops.web.places import bulk_url, return_path
from jobops.web.selectors.acting import may_act
from jobops.web.selectors.choosing import for_all
from jobops.web.selectors.groups import asked_of_groups, ticked_groups
from jobops.web.snoozing import snooze_of
from jobops.web.views.bulk_context import list_url
from jobops.web.views.group_actions import require, why
from tenants.roles import Action

LETTERS = (BulkAction.Kind.REPLAY.value, BulkAction.Kind.DISCARD.value)
LONGEST_CHOSEN = 500
DONE = {"acknowledge": "acknowledged", "snooze": "snoozed", "take": "yours", "assign": "handed over"}
NEEDS = {
    "acknowledge": Action.ACKNOWLEDGE,
    "snooze": Action.ACKNOWLEDGE,
    "take": Action.ASSIGN,
    "assign": Action.ASSIGN,
}


@require_POST
def act(request: HttpRequest) -> HttpResponse:
    """Does what ``do`` says to the causes in ``ids``; a replay or a discard is a draft first, with its preview."""
    do = request.POST.get("do", "")
    if do in LETTERS:
        return _draft(request, do)
    if do not in NEEDS:
        raise Http404("No such action.")
    require(request, NEEDS[do])
    here = return_path(request, list_url())
    try:
        ids = _ticked(request)
        _tell(request, DONE[do], ids, _service(request, do))
    except InvalidAction as error:
        messages.error(request, f"Nothing was changed. {why(error)}")
    return redirect(here)


def _draft(request: HttpRequest, kind: str) -> HttpResponse:
    """All letters of the ticked causes that the list showed: of one tenant, if it was asked for."""
    may = may_act(request.user, kind)
    if not may:
        raise PermissionDenied(may.reason)
    here = return_path(request, list_url())
    try:
        asked, faults = asked_of_groups(request.user, dict(parse_qsl(request.POST.get("query", ""))))
        for name, problem in faults.items():
            raise InvalidAction(name, f"the filter “{name}” is not understood: {problem}")
        meant = asked.letters(_ticked(request))
        chosen = for_all(request.user, meant).as_query()
        bulk = bulk_draft(
            kind=kind,
            letters=meant.apply(letters_visible_to(request.user)),
            by=request.user,
            chosen=chosen if len(chosen) <= LONGEST_CHOSEN else TICKED,
            only_tenants=may.only_tenants,
        )
    except InvalidAction as error:
        messages.error(request, f"Nothing was changed: {error.problem}.")
        return redirect(here)
    return redirect(f"{bulk_url(bulk)}?{urlencode({'next': here})}")


def _service(request: HttpRequest, do: str) -> Callable[[int], object]:
    """What is done to each; the form is read once. Raises ``InvalidAction`` for one that says nothing clear."""
    by = request.user
    if do == "acknowledge":
        return lambda pk: group_acknowledge(group_id=pk, by=by)
    if do == "take":
        return lambda pk: group_take(group_id=pk, by=by)
    if do == "snooze":
        terms = snooze_of(request.POST, timezone.now())
        return lambda pk: group_snooze(group_id=pk, by=by, **terms)
    hand = hand_of(request.POST)
    return lambda pk: group_assign(group_id=pk, by=by, owner=hand.owner, assignee=hand.assignee)


def _tell(request: HttpRequest, done: str, ids: list[int], act_on: Callable[[int], object]) -> None:
    """Act on each, one after the other: what one of them refuses is no reason to leave the others."""
    refused: list[str] = []
    for pk in ids:
        try:
            act_on(pk)
        except DeadLetterGroup.DoesNotExist:
            refused.append("It is not there any more.")
        except LetterError as error:
            refused.append(why(error))
    count = len(ids) - len(refused)
    if count:
        messages.success(request, f"{plural(count, 'cause')} {'is' if count == 1 else 'are'} {done}.")
    for reason in dict.fromkeys(refused):
        messages.error(request, f"{plural(refused.count(reason), 'cause')} stayed as before. {reason}")


def _ticked(request: HttpRequest) -> list[int]:
    """The ids of the ticked causes that exist for this person. Raises ``InvalidAction`` when nothing is ticked."""
    return ticked_groups(groups_visible_to(request.user), request.POST.getlist("ids"))
