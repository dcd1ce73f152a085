"""Workers, ``/workers/``: who runs the jobs, what each slot does, who is lost. For staff."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from jobops.web import words
from jobops.web.selectors.snapshot import snapshot
from jobops.web.views.live import away_is_said, live_url
from tenants.access import can
from tenants.roles import Action


@require_safe
@away_is_said
def page(request: HttpRequest) -> HttpResponse:
    """The whole page."""
    return render(request, "workers/page.html", _context(request))


@require_safe
@away_is_said
def fragment(request: HttpRequest) -> HttpResponse:
    """The part that changes."""
    return render(request, "workers/fragment.html", _context(request))


def _context(request: HttpRequest) -> dict[str, Any]:
    allowed = can(request.user, Action.SEE_FLEET)
    if not allowed:
        raise PermissionDenied(allowed.reason)
    shot = snapshot()
    waiting = sum(row.depth for row in shot.rows.values())
    return {
        "supervisors": shot.supervisors,
        "crew": shot.crew,
        "title": words.workers_title(shot.crew, waiting),
        "as_of": shot.fleet.read_at,
        "live_url": live_url(reverse("live-workers"), request),
    }
