"""Teams and who is in them. Each change is in the audit; what changes nothing is not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from jobops.audit import recording
from tenants.access import sees_all
from tenants.errors import InvalidTeam, InvalidTenant, TeamExists, TeamGone
from tenants.fields import clean_text
from tenants.models import WHOLE_OWNER, Team, TeamMember
from tenants.services import Actor

ABOUT_LENGTH = 200
LONGEST_WAIT_MIN = 7 * 24 * 60
_FACTS = ("about", "escalates_to", "escalate_after_min")


class TeamFields(TypedDict, total=False):
    """What of a team can be set; a missing key leaves it as it is. ``escalates_to``: a team's name; empty: nobody."""

    about: str
    escalates_to: str
    escalate_after_min: int


def team_named(name: str) -> Team:
    """The team of this name. Raises ``TeamGone``."""
    team = None if "\0" in name else Team.objects.filter(name=name).first()
    if team is None:
        raise TeamGone(name)
    return team


def team_create(*, name: str, by: Actor, **fields: Unpack[TeamFields]) -> Team:
    """Make a team. Its name is for good: contracts, rules and letters know it by that.

    Raises ``InvalidTeam`` or ``TeamExists``.
    """
    name = _name(name)
    cleaned = _cleaned(fields, name)
    if Team.objects.filter(name=name).exists():
        raise TeamExists(name)
    try:
        with transaction.atomic():
            team = Team.objects.create(name=name, **cleaned)
            _record("team.create", team, by, {}, _facts(team))
    except IntegrityError as error:  # somebody else was faster
        raise TeamExists(name) from error
    return team


def team_set(*, team: Team, by: Actor, **fields: Unpack[TeamFields]) -> Team:
    """Change what is given and nothing else. Raises ``InvalidTeam`` or ``TeamGone``."""
    cleaned = _cleaned(fields, team.name)
    with transaction.atomic():
        now = _lock(team)
        before = _facts(now)
        for field, value in cleaned.items():
            setattr(now, field, value)
        now.save(update_fields=list(cleaned))
        _record("team.set", now, by, before, _facts(now))
    return now


def team_delete(*, team: Team, by: Actor) -> None:
    """Delete it, with its members and channels. What it owns stays its own by name; who escalated to it does so to
    nobody.

    Raises ``InvalidTeam`` for the default team, which owns what no rule does, or ``TeamGone``.
    """
    if why := why_kept(team.name):
        raise InvalidTeam("name", why)
    with transaction.atomic():
        now = _lock(team)
        members = {"members": [member.user.get_username() for member in now.members.select_related("user")]}
        _record("team.delete", now, by, {**_facts(now), **members}, {})
        now.delete()


def why_kept(name: str) -> str:
    """Why a team of this name cannot be deleted, whatever the rules say; the empty string for one that can."""
    if name != settings.JOBOPS_DEFAULT_OWNER:
        return ""
    return f"{name} owns what no rule does; set JOBOPS_DEFAULT_OWNER to another one first"


def member_add(*, team: Team, user: User, by: Actor) -> TeamMember:
    """Take a person into a team; twice is as once.

    Raises ``InvalidTeam`` for a person who cannot see the whole system, or ``TeamGone``.
    """
    if not user.is_active or not sees_all(user):
        raise InvalidTeam("member", f"{user.get_username()} has no role in our team; give them one first")
    with transaction.atomic():
        now = _lock(team)
        member, is_new = TeamMember.objects.get_or_create(team=now, user=user)
        if is_new:
            _record("team.add", now, by, {}, {"member": user.get_username()})
    return member


def member_remove(*, team: Team, user: User, by: Actor) -> None:
    """Take a person out of a team; who is not in it stays so. Raises ``TeamGone``."""
    with transaction.atomic():
        now = _lock(team)
        if TeamMember.objects.filter(team=now, user=user).delete()[0]:
            _record("team.remove", now, by, {"member": user.get_username()}, {})


def _lock(team: Team) -> Team:
    try:
        return Team.objects.select_for_update().get(pk=team.pk)
    except Team.DoesNotExist:
        raise TeamGone(team.name) from None


def _name(name: str) -> str:
    name = " ".join(name.split()) if isinstance(name, str) else ""
    if not re.match(WHOLE_OWNER, name):
        raise InvalidTeam(
            "name",
            f"{name!r} must be 1 to 50 letters, digits, spaces, '.', '_' and '-', with a letter or digit at both ends",
        )
    return name


def _cleaned(fields: TeamFields, name: str) -> dict[str, Any]:
    cleaned: dict[str, Any] = {}
    if "about" in fields:
        cleaned["about"] = _about(fields["about"])
    if "escalates_to" in fields:
        cleaned["escalates_to"] = _other(fields["escalates_to"], name)
    if "escalate_after_min" in fields:
        cleaned["escalate_after_min"] = _minutes(fields["escalate_after_min"])
    return cleaned


def _about(text: str) -> str:
    try:
        return clean_text("about", text, ABOUT_LENGTH)
    except InvalidTenant as error:
        raise InvalidTeam(error.field, error.problem) from None


def _other(wanted: str, name: str) -> Team | None:
    if not wanted:
        return None
    if wanted == name:
        raise InvalidTeam("escalates_to", "a team does not escalate to itself; name another one, or none")
    team = None if "\0" in wanted else Team.objects.filter(name=wanted).first()
    if team is None:
        raise InvalidTeam("escalates_to", f"no team is called {wanted!r}; make it first")
    return team


def _minutes(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LONGEST_WAIT_MIN:
        raise InvalidTeam("escalate_after_min", f"must be a whole number of minutes from 1 to {LONGEST_WAIT_MIN:,}")
    return value


def _facts(team: Team) -> dict[str, Any]:
    facts = {name: getattr(team, name) for name in _FACTS}
    return {**facts, "escalates_to": team.escalates_to.name if team.escalates_to else ""}


def _record(action: str, team: Team, by: Actor, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    was, now = recording.difference(before, after)
    if was or now:
        recording.record(by, recording.Change(action, "team", team.name, before=was, after=now))
