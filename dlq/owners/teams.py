"""Teams and what refers to them by name: contracts, rules, and the letters that they own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.conf import settings
from django.db.models import Count, Q
from django.utils import timezone

from dlq.models import UNDRAINED, DeadLetter
from dlq.owners.rules import rules_in_force
from dlq.ownership import contract_owner
from jobops.contracts import registry
from tenants import teams
from tenants.errors import InvalidTeam
from tenants.models import Team
from tenants.services import Actor


@dataclass(slots=True)
class Uses:
    """What uses a name: ``jobs`` whose contracts do, ``lines`` of the rules in force, undrained letters (``open``,
    ``overdue``), and whether it is the default."""

    jobs: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    open: int = 0
    overdue: int = 0
    is_default: bool = False


def uses_of_names() -> Mapping[str, Uses]:
    """Name → what uses it; names that nothing uses are not in it. Two queries, off an index."""
    found: dict[str, Uses] = {}
    for job_type in registry.all_types():
        if owner := contract_owner(job_type.name):
            found.setdefault(owner, Uses()).jobs.append(job_type.name)
    for rule in rules_in_force().rules:
        found.setdefault(rule.team, Uses()).lines.append(rule.line)
    found.setdefault(settings.JOBOPS_DEFAULT_OWNER, Uses()).is_default = True
    for owner, count, overdue in _letters():
        uses = found.setdefault(owner, Uses())
        uses.open, uses.overdue = count, overdue
    return found


def names_without_team(uses: Mapping[str, Uses]) -> list[str]:
    """Those of the names that no team has, sorted."""
    return sorted(uses.keys() - set(Team.objects.values_list("name", flat=True)))


def team_delete(*, team: Team, by: Actor) -> None:
    """Delete a team, unless the rules in force give letters to it: they could not be saved again then.

    Raises ``tenants.errors.InvalidTeam`` or ``TeamGone``.
    """
    if why := why_kept(team.name):
        raise InvalidTeam("name", why)
    teams.team_delete(team=team, by=by)


def why_kept(name: str) -> str:
    """Why a team of this name cannot be deleted; the empty string for one that can."""
    if why := teams.why_kept(name):
        return why
    lines = [rule.line for rule in rules_in_force().rules if rule.team == name]
    if not lines:
        return ""
    where = f"line {lines[0]}" if len(lines) == 1 else f"lines {_listed(lines)}"
    return f"{where} of the rules give{'s' * (len(lines) == 1)} letters to {name}"


def _letters() -> list[tuple[str, int, int]]:
    rows = DeadLetter.objects.filter(state__in=UNDRAINED).order_by().values("owner")
    late = Count("pk", filter=Q(due_at__lte=timezone.now()))
    return list(rows.annotate(open=Count("pk"), overdue=late).values_list("owner", "open", "overdue"))


def _listed(lines: Sequence[int]) -> str:
    return ", ".join(map(str, lines[:5])) + (" …" if len(lines) > 5 else "")
