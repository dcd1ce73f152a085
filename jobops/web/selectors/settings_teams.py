"""The teams as their pages show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, Q, QuerySet

from dlq.access import MAX_ID
from dlq.owners.teams import Uses, names_without_team, uses_of_names, why_kept
from jobops.alerts.models import Channel
from jobops.web.alert_words import KINDS
from tenants.errors import InvalidTeam
from tenants.models import Team
from tenants.roles import STAFF_GROUPS

MOST_CHOICES = 500


@dataclass(frozen=True, slots=True)
class TeamLine:
    """A row of the page."""

    team: Team
    members: int
    uses: Uses


@dataclass(frozen=True, slots=True)
class TeamsPage:
    """All teams; ``nobodys``: names that are used and no team has, with what uses them."""

    lines: Sequence[TeamLine]
    nobodys: Mapping[str, Uses]

    @property
    def alone(self) -> list[str]:
        """Teams without a member: nobody sees what is theirs as their own."""
        return [line.team.name for line in self.lines if not line.members]


@dataclass(frozen=True, slots=True)
class TeamPage:
    """One team; ``others``: to whom it can escalate; ``colleagues``: who is not in it; ``channels``: where it is told;
    ``told_by``: the team through whose channels it is told as it has none; ``kept``: why it cannot be deleted."""

    team: Team
    uses: Uses
    members: Sequence[User]
    others: Sequence[str]
    colleagues: Sequence[User]
    channels: Sequence[TeamChannel]
    told_by: Team | None
    kept: str


@dataclass(frozen=True, slots=True)
class TeamChannel:
    """A channel of a team, its kind in words."""

    channel: Channel
    kind: str


def teams_page() -> TeamsPage:
    """All of them, in a constant number of queries."""
    uses = uses_of_names()
    teams = Team.objects.select_related("escalates_to").annotate(count=Count("members")).order_by("name")
    lines = [TeamLine(team, team.count, uses.get(team.name, Uses())) for team in teams]
    return TeamsPage(lines, {name: uses[name] for name in names_without_team(uses)})


def team_page(team: Team) -> TeamPage:
    """One of them, in a constant number of queries."""
    channels = [TeamChannel(each, KINDS[each.kind]) for each in Channel.objects.filter(team=team).order_by("name")]
    is_told = any(each.channel.enabled for each in channels)
    others = Team.objects.exclude(pk=team.pk).order_by("name").values_list("name", flat=True)
    return TeamPage(
        team,
        uses_of_names().get(team.name, Uses()),
        list(User.objects.filter(teams__team=team).order_by("username")),
        list(others),
        list(_colleagues().exclude(teams__team=team)[:MOST_CHOICES]),
        channels,
        None if is_told else _stands_in(team),
        why_kept(team.name),
    )


def colleague(number: str) -> User:
    """The person of this number. Raises ``InvalidTeam``."""
    user = None
    if number.isascii() and number.isdigit() and int(number[:20]) <= MAX_ID:
        user = User.objects.filter(pk=int(number)).first()
    if user is None:
        raise InvalidTeam("member", "choose somebody from the list")
    return user


def _stands_in(team: Team) -> Team | None:
    """The default team, if it is another one and has a channel that is on."""
    default = Team.objects.filter(name=settings.JOBOPS_DEFAULT_OWNER, channels__enabled=True).exclude(pk=team.pk)
    return default.first()


def _colleagues() -> QuerySet[User]:
    staff = User.objects.filter(Q(groups__name__in=STAFF_GROUPS) | Q(is_superuser=True), is_active=True)
    return staff.distinct().order_by("username")
