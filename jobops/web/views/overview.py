"""The overview, ``/``: is anything wrong, what first, whose is it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobops.web import words
from jobops.web.formats import SOON_S
from jobops.web.limit_words import banners_of
from jobops.web.selectors.outside import outside
from jobops.web.selectors.overview import Overview, overview
from jobops.web.views.live import away_is_said, live_url
from tenants.access import can
from tenants.roles import Action

LONGEST_SEARCH = 100


@require_safe
@away_is_said
def page(request: HttpRequest) -> HttpResponse:
    """The whole page."""
    return render(request, "overview/page.html", _context(request))


@require_safe
@away_is_said
def fragment(request: HttpRequest) -> HttpResponse:
    """The part that changes."""
    return render(request, "overview/fragment.html", _context(request))


def _context(request: HttpRequest) -> dict[str, Any]:
    find = request.GET.get("find", "").strip()[:LONGEST_SEARCH]
    found = overview(request.user, find=find, show_calm=request.GET.get("calm") == "1")
    due_in = (found.dead.next_due_at - timezone.now()).total_seconds() if found.dead.next_due_at else None
    return {
        "page": found,
        "as_of": found.as_of,
        "title": title_of(found),
        "firing": found.firing,
        "may_acknowledge": can(request.user, Action.ACKNOWLEDGE),
        "note": words.flood_note(found.rows, found.crew) if found.staff else "",
        "outside": outside() if found.staff else None,
        "orphans": words.orphans_note(found.crew),
        "holds": banners_of(found.limits, timezone.now()) if found.limits is not None else [],
        "due_in": due_in,
        "undrained": found.dead.open,
        "due_soon": due_in is not None and due_in < SOON_S,
        "live_url": live_url(reverse("live-overview"), request),
    }


def title_of(found: Overview) -> str:
    """The page's state in a sentence, in the words of who reads it."""
    if not found.staff:
        return words.own_title(found.rows)
    stands = found.paused or (not found.crew.slots and found.head.waiting)
    if found.firing.title and not stands:
        return found.firing.title
    # What no alert stands for, or not yet; and what nothing else matters beside.
    return words.overview_title(found.rows, found.head, found.dead, found.crew, found.paused)
