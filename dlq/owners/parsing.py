"""The text of the ownership rules, read line by line.

One rule a line: conditions, ``->``, a team, and what else it decides. ``#`` begins a comment. The last that fits wins.

    job=billing.*  tenant=acme-*,globex  error=*TimeoutError  ->  payments  sla=4h  severity=high
    *  ->  operations
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from dlq.models import Severity
from dlq.owners.facts import NORMAL
from dlq.owners.rule import FIELDS, Rule
from dlq.ownership import LONGEST_DRAIN_SLA
from jobops.contracts import durations
from jobops.contracts.promises import OWNER

ARROW = "->"
LONGEST_TEXT = 100_000
MOST_RULES = 1_000
LONGEST_LINE = 1_000
EXAMPLE = "job=billing.* -> payments sla=4h"
SEVERITIES = tuple(Severity.values)

_COMMENT = re.compile(r"(?:^|\s)#.*")
_SHORTEST_SLA = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a line, and what would be right. ``line``: from 1; 0: with the whole text. Unless it is
    ``fatal``, it is a warning only."""

    line: int
    problem: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}" if self.line else self.problem


@dataclass(frozen=True, slots=True)
class Parsed:
    """The rules that could be read, in their order, and what is wrong with the other lines."""

    rules: Sequence[Rule]
    faults: Sequence[Fault]


class _Wrong(Exception):
    """What is wrong with a line."""


def parse_rules(text: str) -> Parsed:
    """Read the text. Never raises: a line that cannot be read is a fault, and the others are read all the same."""
    if len(text) > LONGEST_TEXT:
        return Parsed((), [Fault(0, f"{len(text):,} characters are too many; at most {LONGEST_TEXT:,}")])
    rules: list[Rule] = []
    faults: list[Fault] = []
    for number, line in enumerate(text.splitlines(), 1):
        told = _COMMENT.sub("", line).strip()
        if not told:
            continue
        try:
            rules.append(_rule(number, told))
        except _Wrong as wrong:
            faults.append(Fault(number, str(wrong)))
    if len(rules) > MOST_RULES:
        return Parsed((), [*faults, Fault(0, f"{len(rules):,} rules are too many; at most {MOST_RULES:,}")])
    return Parsed(rules, faults)


def _rule(number: int, told: str) -> Rule:
    if len(told) > LONGEST_LINE:
        raise _Wrong(f"longer than {LONGEST_LINE:,} characters; write two rules instead")
    if not told.replace("\t", " ").isprintable():
        raise _Wrong("holds characters that cannot be seen; type it anew")
    left, *rest = re.split(r"(?:^|\s)->(?:\s|$)", told)
    if len(rest) != 1:
        raise _Wrong(f"must have one {ARROW} between its conditions and its team, such as {EXAMPLE}")
    team, options = _decided(rest[0].split())
    sla_s, severity = options
    return Rule(number, _conditions(left.split()), team, sla_s, severity)


def _conditions(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    if list(words) == ["*"]:
        return {}
    if not words:
        raise _Wrong(f"has no condition before {ARROW}; write * for all dead letters, or one such as {EXAMPLE}")
    found: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in FIELDS:
            raise _Wrong(f"{word!r} is no condition; those are {', '.join(f'{each}=…' for each in FIELDS)}")
        if name in found:
            raise _Wrong(f"{name}= stands twice; give all its patterns to one, {name}=one,other")
        patterns = tuple(value.split(","))
        if not all(patterns):
            raise _Wrong(f"{word!r} lacks a pattern; write one such as {name}=abc* (* stands for any text)")
        found[name] = patterns
    return found


def _decided(words: Sequence[str]) -> tuple[str, tuple[int | None, str]]:
    """The team, whose name may have spaces; and the drain SLA and the severity after it."""
    count = next((place for place, word in enumerate(words) if "=" in word), len(words))
    team = " ".join(words[:count])
    if not team:
        raise _Wrong(f"names no team after {ARROW}; write one, such as {EXAMPLE}")
    if not OWNER.fullmatch(team):
        raise _Wrong(f"{team!r} is no team's name: letters, digits, spaces, '.', '_' and '-', at most 50")
    given: dict[str, str] = {}
    for word in words[count:]:
        name, equals, value = word.partition("=")
        if not equals or name not in ("sla", "severity"):
            raise _Wrong(f"{word!r} after the team must be sla=… or severity=…")
        if name in given:
            raise _Wrong(f"{name}= stands twice")
        given[name] = value
    sla_s = _sla(given["sla"]) if "sla" in given else None
    return team, (sla_s, _severity(given["severity"]) if "severity" in given else NORMAL)


def _sla(value: str) -> int:
    try:
        sla = durations.parse(value)
    except ValueError as error:
        raise _Wrong(f"sla={value}: {error}") from error
    if not _SHORTEST_SLA <= sla <= LONGEST_DRAIN_SLA:
        raise _Wrong(f"sla={value} must be from 1s to {LONGEST_DRAIN_SLA.days}d")
    return int(sla.total_seconds())


def _severity(value: str) -> str:
    if value not in SEVERITIES:
        raise _Wrong(f"severity={value} must be one of {', '.join(SEVERITIES)}; without it, it is {NORMAL}")
    return value
