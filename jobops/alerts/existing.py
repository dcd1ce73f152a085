"""Whether what a rule or a silence names is there: a name that is misspelt would be found out on the night on which it
should have counted. A pattern may fit what is still to come, and is taken as it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from django.conf import settings

from dlq.models import DeadLetterGroup
from dlq.owners.teams import uses_of_names
from jobops.alerts.errors import InvalidAlertAction
from jobops.alerts.matching import fits
from jobops.alerts.signals import SIGNALS
from jobops.contracts import registry
from tenants.models import Team, Tenant

WORDS = {"tenant": "tenant", "lane": "lane", "job_type": "job type", "team": "team", "group": "cause"}
MOST_COMPARED = 1000
"""So many names are looked through for one like it."""


def is_pattern(text: str) -> bool:
    """Whether it names more than one thing, or what is still to come."""
    return any(char in text for char in "*?[")


def check_parts(signal: str, given: Collection[str], always: Collection[str] = ()) -> None:
    """That some reading of the signal (a glob; empty: of any) has all of these parts of a scope at once.

    ``always``: parts that every alert has. Raises ``InvalidAlertAction`` for the first part that is too much.
    """
    fitting = [each for each in SIGNALS.values() if fits(signal, each.name)]
    scopes = [scope for each in fitting for scope in each.parts]
    wanted = [part for part in given if part not in always]
    for end, part in enumerate(wanted, 1):
        if not fitting or any(scope.issuperset(wanted[:end]) for scope in scopes):
            continue
        of = f"{fitting[0].name} (“{fitting[0].title}”)" if len(fitting) == 1 else signal or "any signal"
        if any(part in scope for scope in scopes):
            both = " and ".join(f"a {WORDS[each]}" for each in wanted[:end])
            raise InvalidAlertAction(part, f"no alert of {of} is of {both} at once: leave one of them empty")
        names = [f"a {word}" for each, word in WORDS.items() if any(each in scope for scope in scopes)]
        what = " or ".join(names) or "the whole system"
        raise InvalidAlertAction(part, f"alerts of {of} are of {what}, not of a {WORDS[part]}: leave it empty")


def check_names(values: Mapping[str, str]) -> None:
    """That each name which is no pattern is known. Raises ``InvalidAlertAction``."""
    for part, value in values.items():
        if value and not is_pattern(value) and not _KNOWN[part](value):
            raise InvalidAlertAction(part, f"{value[:60]!r} is not known{_hint(part, value)}")


def check_cause(number: int) -> None:
    """That there is a cause of this number. Raises ``InvalidAlertAction``."""
    if not DeadLetterGroup.objects.filter(pk=number).exists():
        raise InvalidAlertAction("group", f"there is no cause {number}; its page has its number")


def check_team(name: str) -> None:
    """That there is a team to be told. Raises ``InvalidAlertAction``."""
    if name and not Team.objects.filter(name=name).exists():
        near = _near(name, list(Team.objects.values_list("name", flat=True)))
        raise InvalidAlertAction("owner", f"no team is called {name!r}{near or '; make it first'}")


def _tenant(name: str) -> bool:
    return "\0" not in name and Tenant.objects.filter(slug=name).exists()


def _lane(name: str) -> bool:
    return name in settings.JOBOPS_LANES


def _job_type(name: str) -> bool:
    """Registered, or the name of a type that is no more and has left dead letters."""
    known = registry.resolve(name)
    return (known is not None and known.name == name) or DeadLetterGroup.objects.filter(job_type=name).exists()


def _team(name: str) -> bool:
    """A team, or a name that contracts, rules or dead letters use as one."""
    return Team.objects.filter(name=name).exists() or name in uses_of_names()


_KNOWN = {"tenant": _tenant, "lane": _lane, "job_type": _job_type, "team": _team}


def _hint(part: str, value: str) -> str:
    alias = registry.resolve(value) if part == "job_type" else None
    if alias is not None:
        return f" by this name: use {alias.name}"
    known = {
        "tenant": lambda: list(Tenant.objects.values_list("slug", flat=True)[:MOST_COMPARED]),
        "lane": lambda: list(settings.JOBOPS_LANES),
        "job_type": lambda: [each.name for each in registry.all_types()],
        "team": lambda: list(Team.objects.values_list("name", flat=True)[:MOST_COMPARED]),
    }[part]()
    return _near(value, known) or f"; for such as are still to come use a pattern, such as {value[:20]}*"


def _near(value: str, known: list[str]) -> str:
    near = get_close_matches(value, known, n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(near)}?" if near else ""
