"""Batches: the list ``/batches/``, the page of one, and its cancel button."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from jobops.batches.models import Batch
from jobops.runtime.batches import batch_cancel
from jobops.web import batch_words as words
from jobops.web import segments
from jobops.web.selectors.batches import batch_list, batch_page


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """Fifty of them, the newest first."""
    found = batch_list(request.user, request.GET)
    lines = [
        {"batch": batch, "name": words.name_of(batch), "look": words.look_of(batch, staff=found.staff)}
        for batch in found.slice.rows
    ]
    looks = words.LOOKS if found.staff else words.OWN_LOOKS
    states = [(state.value, look.word) for state, look in looks.items()]
    context = {"found": found, "slice": found.slice, "staff": found.staff, "lines": lines, "states": states}
    return render(request, "batches/list.html", context)


@require_safe
def one(request: HttpRequest, batch_id: str) -> HttpResponse:
    """How one stands."""
    return render(request, "batches/page.html", _context(request, batch_id))


@require_safe
def fragment(request: HttpRequest, batch_id: str) -> HttpResponse:
    """The part that changes."""
    return render(request, "batches/fragment.html", _context(request, batch_id))


@require_POST
def cancel(request: HttpRequest, batch_id: str) -> HttpResponse:
    """Ends it: what waits does not run, what runs goes on to its end, and nothing runs after it."""
    found = batch_page(request.user, batch_id)
    if not found.may:
        raise PermissionDenied(found.may.reason)
    reason = request.POST.get("reason", "")
    if nothing_left := words.nothing_to_cancel(found.status):
        messages.error(request, f"Nothing was changed. {nothing_left}")
    elif batch_cancel(batch_id=found.batch.pk, by=request.user, reason=reason) is None:
        messages.error(request, "Nothing was changed: it is over already.")
    else:
        messages.success(request, f"{words.name_of(found.batch)} is cancelled.")
    return redirect("batch", found.batch.pk)


def _context(request: HttpRequest, batch_id: str) -> dict[str, Any]:
    found = batch_page(request.user, batch_id)
    batch, at, staff = found.batch, found.status, found.staff
    shown = words.parts(at, found.parked, staff=staff)
    return {
        "page": found,
        "batch": batch,
        "at": at,
        "staff": staff,
        "name": words.name_of(batch),
        "title": words.batch_title(batch, at, staff=staff),
        "lede": words.batch_lede(batch, at, found.parked, staff=staff),
        "look": words.look_of(batch, staff=staff),
        "parts": shown,
        "legend": shown,
        "segments": segments.segments(shown),
        "bar_label": segments.label(shown),
        "is_open": batch.state in Batch.OPEN,
        "nothing_left": words.nothing_to_cancel(at),
        "dead_more": max(0, at.dead - len(found.dead)),
        "members_more": max(0, at.left - len(found.members)),
        "as_of": found.read_at,
        "live_url": reverse("live-batch", args=[batch.pk]) if batch.ended_at is None else "",
    }
