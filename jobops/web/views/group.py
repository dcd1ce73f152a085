"""One cause, ``/dlq/groups/<id>/``: what happened, whose it is, until when, and what can be done about all of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from dlq.clock.pauses import is_paused
from dlq.filters import ALL_STATUS
from dlq.group_filters import GroupFilter
from dlq.models import BulkAction
from jobops.contracts.secret_values import DOTS
from jobops.web import group_page_words as words
from jobops.web import group_words, letter_words, snoozing, until
from jobops.web.list_links import LETTERS, in_list
from jobops.web.selectors.acting import may_act
from jobops.web.selectors.alerts import alerts_of_cause
from jobops.web.selectors.group import GroupPage, group_page
from jobops.web.selectors.group_choices import people, teams
from jobops.web.selectors.letter_edit import led_group
from jobops.web.views.live import live_url
from jobops.web.views.typed import typed_in
from tenants.access import can
from tenants.roles import Action

Kind = BulkAction.Kind


@require_safe
def page(request: HttpRequest, group_id: int) -> HttpResponse:
    """The whole page."""
    return render(request, "groups/page.html", _context(request, group_id))


@require_safe
def fragment(request: HttpRequest, group_id: int) -> HttpResponse:
    """The part that changes."""
    return render(request, "groups/fragment.html", _context(request, group_id))


def refused(request: HttpRequest, group_id: int) -> HttpResponse:
    """The page again after a form on it could not be taken, with that form open and what was typed in it."""
    return render(request, "groups/page.html", _context(request, group_id) | typed_in(request), status=422)


def _context(request: HttpRequest, group_id: int) -> dict[str, Any]:
    asked, _ = GroupFilter.parse({"tenant": request.GET.get("tenant", "")})
    found = group_page(request.user, group_id, asked.tenant)
    group, line, staff = found.group, found.line, found.staff
    # Its source's own workers run it, whatever is registered here.
    is_foreign = found.sample is not None and found.sample.home is not None
    return {
        "page": found,
        "group": group,
        "line": line,
        "has": line.numbers,
        "staff": staff,
        "title": words.page_title(line, staff=staff),
        "tenant": asked.tenant,
        "by": LETTERS,
        "led": led_group(group) if staff and not is_foreign else None,
        "its_alerts": alerts_of_cause(request.user, group.pk) if staff else (),
        "letters_url": _letters_url(found),
        "query": found.filter.as_query(),
        "lately": words.lately_of(found.lately, found.read_at, staff=staff),
        "lately_warns": words.is_warning(found.lately),
        "forecast": words.forecast_of(line, staff=staff),
        "other_teams": group_words.teams_words(found.teams),
        "state_by": words.who_set_it(group),
        "came_back": words.came_back(group) if staff else "",
        "happened": words.history(found.happened, found.bulks),
        "dots": DOTS,
        **_acts(request, found),
        "as_of": found.read_at,
        "live_url": live_url(reverse("live-group", args=[group.pk]), request),
    }


def _letters_url(found: GroupPage) -> str:
    """The list of its letters: of those to be drained or, where there is none, of all."""
    asked = found.filter if found.line.numbers.undrained else replace(found.filter, status=ALL_STATUS)
    return reverse("dlq") + in_list(asked.as_query(), LETTERS)


def _acts(request: HttpRequest, found: GroupPage) -> dict[str, Any]:
    """What this person may do; of what they may not, why."""
    user, staff = request.user, found.staff
    acts = letter_words.ACTS if staff else letter_words.OWN_ACTS
    many = [(acts[kind.value], may_act(user, kind.value)) for kind in (Kind.REPLAY, Kind.DISCARD)]
    may = can(user, Action.ACKNOWLEDGE) if staff else None
    may_assign = staff and bool(can(user, Action.ASSIGN))
    mine = found.group.assignee_id is not None and found.group.assignee_id == user.pk
    return {
        "many": many if found.line.numbers.undrained else [],
        "many_refusal": next((allowed.reason for _, allowed in many if not allowed), ""),
        "may": bool(may),
        "refusal": may.reason if may is not None else "",
        "may_assign": may_assign,
        "is_mine": mine,
        "snoozes": snoozing.OFFERED,
        "spans": until.OFFERED,
        "paused_until": found.group.clock_paused_until if is_paused(found.group, found.read_at) else None,
        "teams": teams() if may_assign else (),
        "people": people() if may_assign else (),
        "sees_audit": staff and bool(can(user, Action.SEE_AUDIT)),
    }
