"""The demo's own page, ``/demo/``: what the customers' servers answer, and buttons that mend and break them.

Staff look at it; the buttons are for those who may replay.
"""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dlq.models import UNDRAINED, DeadLetter
from jobops.audit.recording import Change, record
from jobops.demo import control
from jobops.demo.story import lines_of, title_of
from tenants.access import can, sees_all
from tenants.roles import Action

PAYMENT = "billing.capture_payment"
MAY_NOT = "Only those who may replay dead letters mend and break servers."


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The servers, one row each, and what there is to try."""
    allowed = can(request.user, Action.SEE_FLEET)
    if not allowed:
        raise PermissionDenied(allowed.reason)
    try:
        found, away = control.servers(), ""
    except control.ServerAway as error:
        found, away = [], str(error)
    unpaid = DeadLetter.objects.filter(job_type=PAYMENT, state__in=UNDRAINED).count()
    context = {
        "lines": lines_of(found),
        "away": away,
        "title": title_of(found, unpaid),
        "unpaid": unpaid,
        "payment": PAYMENT,
        "may_not": "" if can(request.user, Action.REPLAY) else MAY_NOT,
        "as_of": timezone.now(),
    }
    return render(request, "demo/page.html", context)


@require_POST
def mend(request: HttpRequest, endpoint: str) -> HttpResponse:
    """From now on it answers well, whatever it does by nature."""
    return _set(request, endpoint, "mended", f"{endpoint} is mended. What died of it can be replayed now.")


@require_POST
def break_(request: HttpRequest, endpoint: str) -> HttpResponse:
    """From now on it answers 503, until somebody mends it."""
    return _set(request, endpoint, "broken", f"{endpoint} is broken: it answers 503 until you mend it.")


def _set(request: HttpRequest, endpoint: str, mode: str, done: str) -> HttpResponse:
    allowed = can(request.user, Action.REPLAY)
    if not allowed:
        raise PermissionDenied(MAY_NOT if sees_all(request.user) else allowed.reason)
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
