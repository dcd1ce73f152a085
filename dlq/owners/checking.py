"""What is wrong with a text of rules beyond its form: unknown teams and reasons, and rules that never match."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from django.conf import settings

from dlq.models import Reason
from dlq.owners.globs import matcher, overlap
from dlq.owners.names import known_owners
from dlq.owners.parsing import Fault, parse_rules
from dlq.owners.rule import Rule
from jobops.contracts import registry
from tenants.models import Team, TeamMember, Tenant

_SLUG = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-*")


@dataclass(frozen=True, slots=True)
class Known:
    """What rules can be about, as far as this process knows."""

    teams: Collection[str]
    manned: Collection[str]
    owners: Collection[str]
    jobs: Collection[str]
    tenants: Collection[str]
    lanes: Collection[str]


@dataclass(frozen=True, slots=True)
class Checked:
    """The rules that could be read, and what is wrong, by line. ``faults``: fatal ones and warnings."""

    rules: Sequence[Rule]
    faults: Sequence[Fault]

    @property
    def errors(self) -> list[Fault]:
        """What must be mended before the text can be in force."""
        return [fault for fault in self.faults if fault.fatal]

    @property
    def warnings(self) -> list[Fault]:
        """What is odd, and may be meant."""
        return [fault for fault in self.faults if not fault.fatal]


def check_rules(text: str) -> Checked:
    """Read and check a text. Never raises for what it holds. A few short queries."""
    parsed = parse_rules(text)
    known = what_is_known()
    faults = [*parsed.faults, *_shadowed(parsed.rules)]
    for rule in parsed.rules:
        faults += (replace(fault, line=rule.line) for fault in _faults(rule, known))
    return Checked(parsed.rules, sorted(faults, key=lambda fault: (fault.line, not fault.fatal)))


def what_is_known() -> Known:
    """Teams, owners, job types with the names that they had, tenants and lanes."""
    types = registry.all_types()
    return Known(
        teams=frozenset(Team.objects.values_list("name", flat=True)),
        manned=frozenset(TeamMember.objects.values_list("team__name", flat=True)),
        owners=known_owners(),
        jobs={name for each in types for name in (each.name, *each.aliases)},
        tenants=frozenset(Tenant.objects.values_list("slug", flat=True)),
        lanes=tuple(settings.JOBOPS_LANES),
    )


def _faults(rule: Rule, known: Known) -> Iterator[Fault]:
    if rule.team not in known.owners:
        yield Fault(0, _unknown_team(rule.team, known.owners))
    elif rule.team not in known.teams:
        yield Fault(0, f"{rule.team} is no team yet: it has no members, and nobody is told", fatal=False)
    elif rule.team not in known.manned:
        yield Fault(0, f"{rule.team} has no members: but for its channels, if it has any, nobody is told", fatal=False)
    yield from _of_reason(rule.conditions.get("reason", ()))
    yield from _of_tenant(rule.conditions.get("tenant", ()), known.tenants)
    yield from _of_queue(rule, known.lanes)
    for pattern in rule.conditions.get("job", ()):
        if not any(map(matcher(pattern), known.jobs)):
            near = get_close_matches(pattern, known.jobs, 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            yield Fault(0, f"job={pattern}: no registered job type is called so{meant}", fatal=False)


def _unknown_team(name: str, owners: Iterable[str]) -> str:
    near = get_close_matches(name, owners, 1)
    meant = f"did you mean {near[0]}?" if near else f"those are {', '.join(sorted(owners))}"
    return f"no team is called {name}: {meant} Or make the team first" if near else f"no team is called {name}; {meant}"


def _of_reason(patterns: Iterable[str]) -> Iterator[Fault]:
    for pattern in patterns:
        if not any(map(matcher(pattern), Reason.values)):
            yield Fault(0, f"reason={pattern} never matches: the reasons are {', '.join(Reason.values)}")


def _of_tenant(patterns: Iterable[str], tenants: Collection[str]) -> Iterator[Fault]:
    for pattern in patterns:
        if not _SLUG.issuperset(pattern) or len(pattern.replace("*", "")) > 50:
            yield Fault(0, f"tenant={pattern} never matches: a slug is at most 50 of a-z, 0-9 and -")
        elif not any(map(matcher(pattern), tenants)):
            yield Fault(0, f"tenant={pattern}: no tenant is called so now", fatal=False)


def _of_queue(rule: Rule, lanes: Iterable[str]) -> Iterator[Fault]:
    for pattern in rule.conditions.get("queue", ()):
        tenants = rule.conditions.get("tenant", ("*",))
        if not any(overlap(pattern, f"{tenant}.*") for tenant in tenants):
            text = f"queue={pattern}: no queue of such a tenant is called so; theirs are <tenant>.<lane>"
            # A queue of plain RQ may be called anything, but hardly like one of another tenant.
            yield Fault(0, text, fatal="." in pattern and "tenant" in rule.conditions)
        elif not any(overlap(pattern, f"*.{lane}") for lane in lanes):
            yield Fault(0, f"queue={pattern}: no lane is called so; those are {', '.join(lanes)}", fatal=False)


def _shadowed(rules: Sequence[Rule]) -> Iterator[Fault]:
    """Rules of which later ones leave nothing: the last that fits wins."""
    for place, rule in enumerate(rules):
        later = next((other for other in rules[place + 1 :] if other.takes_all_of(rule)), None)
        if later is not None:
            text = f"never matches: line {later.line} ({later.condition}) comes later and takes all of it"
            yield Fault(rule.line, f"{text}; the last that fits wins, so put the wider one first")
