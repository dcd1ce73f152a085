"""Alerts, ``/alerts/``: what is firing, who has it, and how people were told. For staff."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from jobops.alerts.acting import alert_acknowledge
from jobops.alerts.errors import AlertError
from jobops.alerts.reading import get_alert
from jobops.web import alert_words
from jobops.web.places import return_path
from jobops.web.selectors.alerts import alert_page, alerts_page, over_page
from jobops.web.views.live import live_url
from tenants.access import AnyUser, can
from tenants.roles import Action

MINUTES = (15, 60, 240, 1440)
"""For how long an acknowledgement holds, to choose from."""
LABELS = {"minutes": "Have it for"}
"""What a field is called on the page."""


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """What is open, or with ``state=resolved`` all that is over."""
    refuse_unless(request.user, Action.SEE_FLEET)
    if request.GET.get("state") == "resolved":
        lines, found = over_page(request.user, request.GET.dict())
        return render(request, "alerts/over.html", {"lines": lines, "slice": found})
    return render(request, "alerts/page.html", _context(request))


@require_safe
def fragment(request: HttpRequest) -> HttpResponse:
    """The part that changes."""
    refuse_unless(request.user, Action.SEE_FLEET)
    return render(request, "alerts/fragment.html", _context(request))


@require_safe
def one(request: HttpRequest, alert_id: int) -> HttpResponse:
    """One alert."""
    refuse_unless(request.user, Action.SEE_FLEET)
    found = alert_page(request.user, alert_id)
    context = {"page": found, "line": found.line, "alert": found.line.alert, "minutes": MINUTES}
    return render(request, "alerts/one.html", {**context, **rights(request.user)})


@require_POST
def acknowledge(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Somebody has it; back to where they were, or on to what it is about."""
    refuse_unless(request.user, Action.ACKNOWLEDGE)
    alert = get_alert(request.user, alert_id)
    try:
        minutes = whole(request.POST.get("minutes", "60"))
        alert_acknowledge(alert_id=alert.pk, by=request.user, minutes=minutes)
    except AlertError as error:
        messages.error(request, f"Nothing was changed. {alert_words.fault_words(error, LABELS)}")
    else:
        messages.success(request, f"You have it: {alert_words.stopped(alert.title)}")
    return redirect(return_path(request, reverse("alert", args=[alert.pk])))


def refuse_unless(user: AnyUser, action: Action) -> None:
    """Raises ``PermissionDenied`` with the reason."""
    allowed = can(user, action)
    if not allowed:
        raise PermissionDenied(allowed.reason)


def rights(user: AnyUser) -> dict[str, Any]:
    """What this person may do about alerts, for the buttons."""
    return {
        "may_acknowledge": can(user, Action.ACKNOWLEDGE),
        "may_silence": can(user, Action.SILENCE),
        "may_configure": can(user, Action.CONFIGURE),
    }


def whole(text: str) -> int:
    """A whole number that a form sends; 0, which nothing takes, for anything else."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _context(request: HttpRequest) -> dict[str, Any]:
    found = alerts_page(request.user, request.GET.dict())
    return {
        "page": found,
        "title": alert_words.alerts_title(found.standings, found.given_up),
        "as_of": timezone.now(),
        "live_url": live_url(reverse("live-alerts"), request),
        **rights(request.user),
    }
