"""One dead letter, ``/dlq/<id>/``: why it died, whose it is, until when, and what can be done."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from dlq.access import get_letter
from dlq.models import State
from dlq.payloads import Shown
from dlq.services import UNDO_FOR
from jobops.contracts.secret_values import DOTS
from jobops.web import letter_page_words as words
from jobops.web.discard_reasons import REASONS
from jobops.web.lately_words import is_warning, lately_sentences
from jobops.web.pause_words import paused_sentences
from jobops.web.selectors.letter import LetterPage, letter_page
from jobops.web.views.live import live_url
from tenants.access import can, masked
from tenants.roles import Action


@require_safe
def page(request: HttpRequest, letter_id: int) -> HttpResponse:
    """The whole page."""
    return render(request, "letter/page.html", _context(request, letter_id))


@require_safe
def fragment(request: HttpRequest, letter_id: int) -> HttpResponse:
    """The part that changes while it is being replayed."""
    return render(request, "letter/fragment.html", _context(request, letter_id))


@require_safe
def payload(request: HttpRequest, letter_id: int) -> HttpResponse:
    """All arguments as a JSON file, masked as on the page; of unreadable ones the bytes, for who may see them."""
    letter = get_letter(request.user, letter_id)
    hide = masked(request.user, letter.tenant)
    text = Shown(letter, mask=hide).payload_json()
    if text is not None:
        return _file(text.encode(), f"dead-letter-{letter.pk}.json", "application/json")
    if letter.payload_raw is None or hide:
        raise Http404("There is nothing to read.")
    return _file(bytes(letter.payload_raw), f"dead-letter-{letter.pk}.bin", "application/octet-stream")


def _file(content: bytes, name: str, kind: str) -> HttpResponse:
    return HttpResponse(content, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _context(request: HttpRequest, letter_id: int) -> dict[str, Any]:
    found = letter_page(request.user, letter_id)
    letter, staff, now = found.letter, found.staff, found.read_at
    state = State(letter.state)
    return {
        "page": found,
        "letter": letter,
        "job": found.job,
        "staff": staff,
        "look": (words.LOOKS if staff else words.OWN_LOOKS)[state],
        "title": words.letter_title(letter, staff=staff),
        **_lately(found),
        **_paused(found),
        "clock_note": _clock(found),
        "undo_until": (letter.drained_at or timezone.now()) + UNDO_FOR,
        "reasons": REASONS,
        "sees_audit": staff and can(request.user, Action.SEE_AUDIT, letter.tenant),
        "as_of": now,
        "dots": DOTS,
        # Something happens by itself only while it is being replayed.
        "live_url": live_url(reverse("live-letter", args=[letter.pk]), request) if state is State.REPLAYING else "",
    }


def _clock(found: LetterPage) -> str:
    if not found.letter.is_undrained:
        return words.drained_note(found.letter)
    return (words.clock_note if found.staff else words.own_clock_note)(found.letter, found.read_at)


def _lately(found: LetterPage) -> dict[str, Any]:
    if found.lately is None:
        return {}
    told = lately_sentences(found.letter, found.lately, found.read_at, staff=found.staff)
    return {"lately": told, "lately_warns": is_warning(found.letter, found.lately)}


def _paused(found: LetterPage) -> dict[str, Any]:
    letter = found.letter
    if letter.tenant is None or not letter.tenant.paused or not letter.is_undrained:
        return {}
    sent = letter.state == State.REPLAYING
    return {"paused": paused_sentences(letter.tenant, found.read_at, sent=sent, staff=found.staff)}
