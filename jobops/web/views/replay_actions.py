"""What people do to a replay that runs: pause it, let it go on, change its speed, preview another of what is left."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from dlq.access import get_bulk
from dlq.bulk import bulk_draft
from dlq.errors import InvalidAction, LetterError
from dlq.models import BulkAction
from dlq.replay_control import replay_pause, replay_resume, replay_set_speed
from dlq.replay_plan import parse_options
from jobops.web.places import bulk_url
from jobops.web.replay_form import LABELS, LONGEST
from jobops.web.selectors.acting import may_act
from jobops.web.selectors.bulks import may_run
from jobops.web.selectors.replay_again import WHICH, how_chosen, letters_of
from jobops.web.views.bulk import refused, require
from jobops.web.views.bulk_context import plan_context
from tenants.access import Allowed, sees_all

SPEED_IS_OURS = "Only our team sets how fast it goes."


@require_safe
def plan(request: HttpRequest, bulk_id: int) -> HttpResponse:
    """What would happen with these options: the part of the preview that follows them."""
    bulk = get_bulk(request.user, bulk_id)
    if bulk.kind != BulkAction.Kind.REPLAY or bulk.state != BulkAction.State.DRAFT:
        raise Http404("Only of a replay that is not confirmed yet.")
    may = may_run(request.user, bulk)
    shown = plan_context(request, bulk, may, staff=sees_all(request.user))
    return render(request, "bulk/will_happen.html", shown)


@require_POST
def pause(request: HttpRequest, bulk_id: int) -> HttpResponse:
    """Sends no more until somebody lets it go on."""
    bulk = get_bulk(request.user, bulk_id)
    require(may_run(request.user, bulk))
    try:
        replay_pause(bulk_id=bulk.pk, by=request.user, why=request.POST.get("why", ""))
    except LetterError as error:
        return refused(request, error, bulk_url(bulk))
    messages.success(request, "Paused. What was sent goes on to its end.")
    return redirect(bulk_url(bulk))


@require_POST
def resume(request: HttpRequest, bulk_id: int) -> HttpResponse:
    """Lets it go on; after its canary has stopped it, with a new canary."""
    bulk = get_bulk(request.user, bulk_id)
    require(may_run(request.user, bulk))
    try:
        replay_resume(bulk_id=bulk.pk, by=request.user)
    except LetterError as error:
        return refused(request, error, bulk_url(bulk))
    messages.success(request, "It goes on.")
    return redirect(bulk_url(bulk))


@require_POST
def speed(request: HttpRequest, bulk_id: int) -> HttpResponse:
    """How fast it goes from now on."""
    bulk = get_bulk(request.user, bulk_id)
    require(may_run(request.user, bulk))
    require(Allowed(sees_all(request.user), SPEED_IS_OURS))
    sent = {name: request.POST.get(name, "")[:LONGEST] for name in ("rate", "in_flight")}
    options, faults = parse_options(sent)
    try:
        for name, problem in faults.items():
            raise InvalidAction(name, f"{LABELS.get(name, name)}: {problem}")
        replay_set_speed(bulk_id=bulk.pk, by=request.user, rate=options.rate, in_flight=options.in_flight)
    except LetterError as error:
        return refused(request, error, bulk_url(bulk))
    messages.success(request, "The speed is changed.")
    return redirect(bulk_url(bulk))


@require_POST
def again(request: HttpRequest, bulk_id: int) -> HttpResponse:
    """Another draft: of what died since this one was fixed, or of what died again in it."""
    bulk = get_bulk(request.user, bulk_id)
    if bulk.kind != BulkAction.Kind.REPLAY:
        raise Http404("Only of a replay.")
    may = may_act(request.user, bulk.kind)
    if not may:
        raise PermissionDenied(may.reason)
    which = request.POST.get("which", "")
    if which not in WHICH:
        raise Http404("No such letters.")
    try:
        draft = bulk_draft(
            kind=bulk.kind,
            letters=letters_of(request.user, bulk, which),
            by=request.user,
            chosen=how_chosen(bulk, which),
            only_tenants=may.only_tenants,
        )
    except InvalidAction as error:
        return refused(request, error, bulk_url(bulk))
    here: dict[str, Any] = {"next": bulk_url(bulk)}
    return redirect(f"{bulk_url(draft)}?{urlencode(here)}")
