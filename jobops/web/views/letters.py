"""Dead letters one by one, ``/dlq/``: what gave up, whose it is, and until when it must be dealt with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dlq.errors import InvalidAction
from dlq.filters import UNDRAINED_STATUS, LetterFilter
from dlq.searchable import words_of
from jobops.audit.recording import Change, record
from jobops.web import letter_words as words
from jobops.web.list_links import CAUSES, LETTERS, in_list
from jobops.web.places import return_path
from jobops.web.selectors.acting import kinds_for, may_act
from jobops.web.selectors.choosing import filter_of, for_all
from jobops.web.selectors.going_on import going_on
from jobops.web.selectors.letter_choices import choices_for
from jobops.web.selectors.letter_export import exported
from jobops.web.selectors.letters import LetterList, last_drained, letter_list
from jobops.web.views.live import live_url

FORM = ("q", "tenant", "job", "owner", "assignee", "severity", "reason", "error", "older_than", "drained", "deep")
"""What the filter form asks for; the rest of the address it only keeps."""


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """Fifty of them, due first, with the filter form."""
    if "" in request.GET.values():
        # A form sends its empty fields too; the address says only what is asked for.
        asked = [(name, value) for name, value in request.GET.items() if value]
        return redirect(f"{request.path}?{urlencode(asked)}")
    context = _context(request)
    found: LetterList = context["page"]
    context["choices"] = choices_for(request.user, found.filter)
    address = in_list(found.query, LETTERS).removeprefix("?")
    context["kept"] = [(name, value) for name, value in parse_qsl(address) if name not in FORM]
    return render(request, "dlq/page.html", context)


@require_safe
def fragment(request: HttpRequest) -> HttpResponse:
    """The part that changes."""
    return render(request, "dlq/fragment.html", _context(request))


@require_POST
def export(request: HttpRequest) -> HttpResponseBase:
    """All that match as a file, read and sent piece by piece; what is secret is masked for everybody."""
    kind = request.POST.get("format", "csv")
    try:
        asked = filter_of(request.user, request.POST)
        lines, media = exported(request.user, asked, kind)
    except InvalidAction as error:
        messages.error(request, f"Nothing was exported: {error.problem}.")
        return redirect(return_path(request, reverse("dlq")))
    # Nothing is changed, but much may be carried away.
    told = {"filter": for_all(request.user, asked).as_query(), "format": kind}
    record(request.user, Change("letter.export", "export", "letters", after=told))
    name = f"dead-letters-{timezone.now():%Y-%m-%d-%H%M}.{kind}"
    return StreamingHttpResponse(
        lines, content_type=media, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


def _undrained(found: LetterList) -> dict[str, int]:
    """What the navigation counts, where the list has just counted it: two readings might differ."""
    whole = LetterFilter(status=found.filter.status, overdue=found.filter.overdue, sort=found.filter.sort)
    everything = found.counts.by_tab.get(UNDRAINED_STATUS)
    return {"undrained": everything.count} if whole == found.filter and everything is not None else {}


def _context(request: HttpRequest) -> dict[str, Any]:
    found = letter_list(request.user, request.GET)
    asked, staff = found.filter, found.staff
    kinds = kinds_for(asked)
    may = may_act(request.user, kinds[0]) if kinds else None
    acts = words.ACTS if staff else words.OWN_ACTS
    return {
        "page": found,
        "slice": found.slice,
        "staff": staff,
        "by": LETTERS,
        "title": words.title(asked, found.counts, staff=staff),
        "lede": words.lede(asked, staff=staff),
        "tabs": words.tabs(asked, found.counts, staff=staff),
        # What was passed over is sent along: the server refuses to take all that match what it does not understand.
        "query": request.GET.urlencode() if found.is_widened else found.query,
        "widened": found.is_widened,
        "words": [word for word in asked.words() if word.name not in ("status", "overdue")],
        "faults": words.fault_text(found.faults),
        "search_note": words.search_note(asked),
        "searched_note": words.searched_note(found.searched_since, staff=staff),
        "deep_url": in_list(replace(asked, deep=True).as_query(), LETTERS),
        "only_signs": bool(asked.q) and not words_of(asked.q),
        "acts": [acts[kind] for kind in kinds],
        "may": may,
        "refusal": may.reason if may is not None else "",
        "drained": words.is_drained(asked),
        "by_newest": asked.sort == "newest",
        "sorts": {"due": replace(asked, sort="due").as_query(), "newest": replace(asked, sort="newest").as_query()},
        "narrowed": LetterFilter(status=asked.status, overdue=asked.overdue, sort=asked.sort) != asked,
        "last": None if found.lines else last_drained(request.user),
        "running": going_on(request.user),
        "here_url": in_list(found.query, LETTERS),
        "by_cause": in_list(words.of_causes(asked), CAUSES),
        "as_of": found.read_at,
        "live_url": live_url(reverse("live-dlq"), request),
        **_undrained(found),
    }
