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
from dlq.retention import kept_for
from jobops.contracts.secret_values import DOTS
from jobops.web import letter_page_words as words
from jobops.web import until
from jobops.web.discard_reasons import reasons_shown
from jobops.web.lately_words import is_warning, lately_sentences
from jobops.web.pause_words import paused_sentences
from jobops.web.selectors.group_choices import people, teams
from jobops.web.selectors.letter import LetterPage, letter_page
from jobops.web.selectors.letter_edit import edit_button, led
from jobops.web.views.live import live_url
from jobops.web.views.typed import typed_in
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


def refused(request: HttpRequest, letter_id: int) -> HttpResponse:
    """The page again after a form on it could not be taken, with that form open and what was typed in it."""
    return render(request, "letter/page.html", _context(request, letter_id) | typed_in(request), status=422)


def _context(request: HttpRequest, letter_id: int) -> dict[str, Any]:
    found = letter_page(request.user, letter_id)
    letter, staff, now = found.letter, found.staff, found.read_at
    state = State(letter.state)
    return {
        "page": found,
        "letter": letter,
        "job": found.job,
        "staff": staff,
        "look": words.letter_look(letter, staff=staff, by_contract=found.by_contract),
        "title": words.letter_title(letter, staff=staff, by_contract=found.by_contract),
        **_lately(found),
        **_paused(found),
        "clock_note": _clock(found),
        "kept_days": kept_for().days,
        "undo_until": (letter.drained_at or timezone.now()) + kept_for(),
        "reasons": reasons_shown() if state is State.OPEN else (),
        **_whose(request, found),
        **_replays(request, found),
        "sees_audit": staff and can(request.user, Action.SEE_AUDIT, letter.tenant),
        "as_of": now,
        "dots": DOTS,
        # Something happens by itself only while it is being replayed.
        "live_url": live_url(reverse("live-letter", args=[letter.pk]), request) if state is State.REPLAYING else "",
    }


def _replays(request: HttpRequest, found: LetterPage) -> dict[str, Any]:
    """What of its replays is not plain: another type, other arguments."""
    letter = found.letter
    edited = any(one.edits and one.job_id == letter.replay_job_id for one in found.history)
    return {
        "edit": edit_button(request.user, letter),
        "led": led(letter) if found.staff and letter.is_undrained and found.home is None else None,
        "was_edited": edited and found.staff and letter.state == State.OPEN,
    }


def _whose(request: HttpRequest, found: LetterPage) -> dict[str, Any]:
    """Whose it is, and what this person may change about that; of it, a tenant's people are told nothing."""
    if not found.staff:
        return {}
    letter, allowed = found.letter, can(request.user, Action.ASSIGN)
    acts = letter.is_undrained and bool(allowed)
    return {
        "may_assign": acts,
        "assign_refusal": allowed.reason if letter.is_undrained else "",
        "is_mine": letter.assignee_id is not None and letter.assignee_id == request.user.pk,
        "paused_until": letter.clock_paused_until if found.clock and found.clock.is_paused else None,
        "spans": until.OFFERED,
        "teams": teams() if acts else (),
        "people": people() if acts else (),
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
