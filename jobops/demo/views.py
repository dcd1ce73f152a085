"""The demo's own page, ``/demo/``: a night on call step by step, what the teams were told, and what the customers'
servers answer, with buttons that mend and break them.

Staff look at it; the buttons are for those who may replay.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dlq.models import UNDRAINED, DeadLetter
from jobops.audit.recording import Change, record
from jobops.demo import control
from jobops.demo.incident import DEATHS, FEWEST, MOST, let_it_go_wrong
from jobops.demo.night import PAYMENT, read_night
from jobops.demo.places import Places
from jobops.demo.story import happened, lines_of, title_of
from jobops.demo.told import told_lately
from jobops.engine.errors import EngineError
from jobops.web.formats import number
from jobops.web.views.live import away_is_said, live_url
from tenants.access import can, sees_all
from tenants.roles import Action

MAY_NOT = "Only those who may replay dead letters let it go wrong, and mend and break servers."


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The story, what the teams were told, and the servers, one row each."""
    return render(request, "demo/page.html", _context(request))


@require_safe
def fragment(request: HttpRequest) -> HttpResponse:
    """The part that changes."""
    return render(request, "demo/fragment.html", _context(request))


def _context(request: HttpRequest) -> dict[str, Any]:
    allowed = can(request.user, Action.SEE_FLEET)
    if not allowed:
        raise PermissionDenied(allowed.reason)
    try:
        found, told, away = control.servers(), told_lately(Places(settings.HOME_DIR)), ""
    except control.ServerAway as error:
        found, told, away = [], [], str(error)
    unpaid = DeadLetter.objects.filter(job_type=PAYMENT, state__in=UNDRAINED).count()
    return {
        "lines": lines_of(found),
        "told": told,
        "away": away,
        "title": title_of(found, unpaid),
        "night": read_night(),
        "deaths": DEATHS,
        "fewest": FEWEST,
        "most": MOST,
        "may_not": "" if can(request.user, Action.REPLAY) else MAY_NOT,
        "as_of": timezone.now(),
        "live_url": live_url(reverse("live-demo"), request),
    }


@require_POST
@away_is_said
def incident(request: HttpRequest) -> HttpResponse:
    """Break the payment provider, and send what dies of that and of two causes more."""
    _refuse_without_right(request)
    wanted = request.POST.get("deaths", str(DEATHS)).strip()
    try:
        if not (wanted.isascii() and wanted.isdigit() and len(wanted) < 10 and FEWEST <= int(wanted) <= MOST):
            raise ValueError(f"How many is to be a whole number from {number(FEWEST)} to {number(MOST)}.")
        sent = let_it_go_wrong(deaths=int(wanted), by=request.user)
    except (control.ServerAway, EngineError, ValueError) as error:
        messages.error(request, f"Nothing was sent. {error}")
    else:
        messages.success(request, happened(sent))
    return redirect("demo")


@require_POST
def mend(request: HttpRequest, endpoint: str) -> HttpResponse:
    """From now on it answers well, whatever it does by nature."""
    return _set(request, endpoint, "mended", f"{endpoint} is mended. What died of it can be replayed now.")


@require_POST
def break_(request: HttpRequest, endpoint: str) -> HttpResponse:
    """From now on it answers 503, until somebody mends it."""
    return _set(request, endpoint, "broken", f"{endpoint} is broken: it answers 503 until you mend it.")


def _set(request: HttpRequest, endpoint: str, mode: str, done: str) -> HttpResponse:
    _refuse_without_right(request)
    try:
        before = control.set_mode(endpoint, mode)
    except KeyError:
        raise Http404("No such server.") from None
    except control.ServerAway as error:
        messages.error(request, f"Nothing was changed. {error}")
    else:
        verb = "mend" if mode == "mended" else "break"
        record(request.user, Change(f"demo.{verb}", "demo", endpoint, before={"mode": before}, after={"mode": mode}))
        messages.success(request, done)
    return redirect("demo")


def _refuse_without_right(request: HttpRequest) -> None:
    allowed = can(request.user, Action.REPLAY)
    if not allowed:
        raise PermissionDenied(MAY_NOT if sees_all(request.user) else allowed.reason)
