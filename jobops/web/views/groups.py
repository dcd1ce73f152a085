"""Dead letters by cause, ``/dlq/``: what is due first, whose it is, and how it goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from dlq.searchable import words_of
from jobops.web import group_words as words
from jobops.web import snoozing
from jobops.web.letter_words import fault_text, searched_note
from jobops.web.list_links import CAUSES, LETTERS, in_list, shows_causes
from jobops.web.selectors.going_on import going_on
from jobops.web.selectors.group_choices import choices_for, people, teams
from jobops.web.selectors.group_drained import drained_lately
from jobops.web.selectors.groups import GroupList, group_list
from jobops.web.selectors.letter_numbered import letter_numbered
from jobops.web.views import letters
from jobops.web.views.live import live_url
from tenants.access import can
from tenants.roles import Action

FORM = ("q", "tenant", "job", "owner", "assignee", "severity", "error", "status", "deep")
"""What the filter form asks for; the rest of the address it only keeps."""


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """The causes or, where the address asks for what only letters have, the letters one by one."""
    return page(request) if shows_causes(request.GET) else letters.page(request)


@require_safe
def index_fragment(request: HttpRequest) -> HttpResponse:
    """The part that changes, of either list."""
    if not shows_causes(request.GET):
        return letters.fragment(request)
    return render(request, "groups/list_fragment.html", _context(request))


def page(request: HttpRequest) -> HttpResponse:
    """Fifty causes, due first, with the filter form."""
    if "" in request.GET.values():
        # A form sends its empty fields too; the address says only what is asked for.
        asked = [(name, value) for name, value in request.GET.items() if value]
        return redirect(f"{request.path}?{urlencode(asked)}")
    context = _context(request)
    found: GroupList = context["page"]
    context["choices"] = choices_for(request.user, found.filter)
    # A state that is chosen here is one of causes, though letters have one of that name.
    kept = [("by", CAUSES), *parse_qsl(found.query)]
    context["kept"] = [(name, value) for name, value in kept if name not in FORM]
    return render(request, "groups/list.html", context)


def _context(request: HttpRequest) -> dict[str, Any]:
    found = group_list(request.user, request.GET)
    asked, counts, staff = found.filter, found.counts, found.staff
    lede, lede_job = words.lede(counts, staff=staff)
    return {
        "page": found,
        "slice": found.page,
        "counts": counts,
        "staff": staff,
        "by": CAUSES,
        "title": words.title(asked, counts, staff=staff),
        "lede": lede,
        "lede_job": lede_job,
        "unsorted": words.unsorted_note(counts, staff=staff),
        "views": words.views(asked, counts, staff=staff),
        "query": request.GET.urlencode() if found.is_widened else found.query,
        "letters_query": asked.letters().as_query(),
        "widened": found.is_widened,
        "words": [word for word in asked.words() if word.name != "overdue"],
        "faults": fault_text(found.faults),
        "searched_note": searched_note(found.searched_since, staff=staff),
        "deep_url": in_list(replace(asked, deep=True).as_query(), CAUSES),
        "by_number": letter_numbered(request.user, asked.q, found.read_at),
        "only_signs": bool(asked.q) and not words_of(asked.q),
        "sorts": {name.lstrip("-"): replace(asked, sort=name).as_query() for name in asked.choices["sort"]},
        "sort": asked.order,
        "here_url": in_list(asked.letters().as_query(), LETTERS),
        "by_cause": in_list(found.query, CAUSES),
        "running": going_on(request.user),
        **_acts(request, found),
        **_empty(request, found),
        "as_of": found.read_at,
        "live_url": live_url(reverse("live-dlq"), request),
        **({} if asked.is_narrowed or not staff else {"undrained": counts.all.letters + counts.unsorted}),
    }


def _acts(request: HttpRequest, found: GroupList) -> Mapping[str, Any]:
    """Causes are everybody's: who may act on the letters of some tenants does so there, one by one."""
    if not found.staff:
        return {"may": False, "refusal": ""}
    may = can(request.user, Action.ACKNOWLEDGE)
    refusal = may.reason
    return {
        "may": bool(may),
        "refusal": refusal,
        "teams": teams() if may else (),
        "people": people() if may else (),
        "snoozes": snoozing.OFFERED,
    }


def _empty(request: HttpRequest, found: GroupList) -> Mapping[str, Any]:
    """What an empty list says: when it was last not so."""
    if found.lines:
        return {}
    asked = found.filter
    first = asked.status == "undrained" and not (asked.is_narrowed or asked.overdue)
    return {
        "is_first": first,
        "drained": drained_lately(request.user, found.read_at) if first else None,
        "report_url": reverse("dlq-report"),
    }
