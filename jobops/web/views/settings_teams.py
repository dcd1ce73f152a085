"""Teams, ``/settings/teams/``: who drains dead letters and is told of alerts."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from dlq.access import MAX_ID
from dlq.owners.teams import team_delete
from jobops.web.selectors.settings_teams import colleague, team_page, teams_page
from jobops.web.settings_words import team_title, teams_title
from jobops.web.views.settings import check_configures, check_sees, may_configure
from tenants.errors import InvalidTeam, TeamGone, TenantError
from tenants.models import Team
from tenants.teams import TeamFields, member_add, member_remove, team_create, team_set

LONGEST_NAME = 200
FIELDS = {
    "name": "Its name",
    "about": "What it looks after",
    "escalates_to": "Escalates to",
    "escalate_after_min": "The minutes before that",
    "member": "Who",
}
"""What a field is called on the page."""


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """All of them, and the names that are used and no team has."""
    check_sees(request)
    found = teams_page()
    context = {"found": found, "title": teams_title(found), "may": may_configure(request)}
    return render(request, "settings/teams.html", context)


@require_safe
def one(request: HttpRequest, team_id: int) -> HttpResponse:
    """One team: what it looks after, who is in it, to whom it escalates."""
    check_sees(request)
    found = team_page(_team(team_id))
    context = {"found": found, "team": found.team, "title": team_title(found), "may": may_configure(request)}
    return render(request, "settings/team.html", context)


@require_POST
def create(request: HttpRequest) -> HttpResponse:
    """Make a team."""
    check_configures(request)
    try:
        name = request.POST.get("name", "")[:LONGEST_NAME]
        team = team_create(name=name, about=request.POST.get("about", ""), by=request.user)
    except TenantError as error:
        messages.error(request, f"No team was made. {_sentence(error)}")
        return redirect("teams")
    messages.success(request, f"There is a team {team.name} now. Say who is in it.")
    return redirect("team", team.pk)


@require_POST
def change(request: HttpRequest, team_id: int) -> HttpResponse:
    """Change what it looks after and to whom it escalates."""
    return _act(request, team_id, "It is changed.", _set)


@require_POST
def add(request: HttpRequest, team_id: int) -> HttpResponse:
    """Take a colleague into it."""

    def act(request: HttpRequest, team: Team) -> None:
        member_add(team=team, user=colleague(request.POST.get("user", "")), by=request.user)

    return _act(request, team_id, "They are in the team now.", act)


@require_POST
def remove(request: HttpRequest, team_id: int) -> HttpResponse:
    """Take a person out of it."""

    def act(request: HttpRequest, team: Team) -> None:
        member_remove(team=team, user=colleague(request.POST.get("user", "")), by=request.user)

    return _act(request, team_id, "They are not in the team any more.", act)


@require_POST
def delete(request: HttpRequest, team_id: int) -> HttpResponse:
    """Delete it; what it owns stays its own by name."""
    check_configures(request)
    team = _team(team_id)
    try:
        team_delete(team=team, by=request.user)
    except TenantError as error:
        messages.error(request, f"Nothing was deleted. {_sentence(error)}")
        return redirect("team", team.pk)
    messages.success(request, f"The team {team.name} is deleted.")
    return redirect("teams")


def _act(request: HttpRequest, team_id: int, done: str, act: Callable[[HttpRequest, Team], None]) -> HttpResponse:
    check_configures(request)
    team = _team(team_id)
    try:
        act(request, team)
    except TeamGone:
        raise Http404("No such team.") from None
    except TenantError as error:
        messages.error(request, f"Nothing was changed. {_sentence(error)}")
    else:
        messages.success(request, done)
    return redirect("team", team.pk)


def _set(request: HttpRequest, team: Team) -> None:
    minutes = request.POST.get("escalate_after_min", "").strip()
    fields: TeamFields = {
        "about": request.POST.get("about", ""),
        "escalates_to": request.POST.get("escalates_to", ""),
        # What is no number is refused by name.
        "escalate_after_min": int(minutes) if minutes.isascii() and minutes.isdigit() and len(minutes) < 10 else 0,
    }
    team_set(team=team, by=request.user, **fields)


def _team(team_id: int) -> Team:
    if not 0 < team_id <= MAX_ID:
        raise Http404("No such team.")
    return get_object_or_404(Team, pk=team_id)


def _sentence(error: TenantError) -> str:
    if isinstance(error, InvalidTeam):
        return f"{FIELDS.get(error.field, error.field)}: {error.problem}."
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."
