"""One rule of an error policy: which errors it matches, and how narrowly.

A rule is written as an exception class, an HTTP status (``429``, ``"5xx"``, ``"500-599"``,
``range(500, 600)``), or a pattern that is searched in the error's message (a string or a compiled one).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, Protocol

from jobops.contracts.durations import parse
from jobops.contracts.error_text import message_of
from jobops.contracts.faults import BadValue
from jobops.contracts.http_errors import status_of

Action = Literal["retry", "poison", "discard"]

SEARCHED = 4_096
"""Characters of a message that patterns see: a pattern's cost may grow with its square."""

_STATUS = re.compile(r"([1-5])xx|([1-5]\d\d)(?:\s*-\s*([1-5]\d\d))?", re.ASCII | re.IGNORECASE)
_HINT = 'give exception classes, HTTP statuses (429, "5xx", "500-599") or patterns for the message'


class After:
    """Holds a rule back until the job has been enqueued for ``grace``; until then the error is retried.

    ``discard_on=[After("30s", Invoice.DoesNotExist)]``: a job may start before the row it is about can be
    seen, so a missing row is passing trouble at first; one still missing after 30 s was deleted. The retries
    in between are spread so that the last one comes when the grace is over. A job that has no attempt left
    before that dies as usual: nothing that may still be right is discarded.
    """

    def __init__(self, grace: object, *rules: object) -> None:
        self.grace = grace
        self.rules = rules

    def __repr__(self) -> str:
        return f"After({self.grace!r}, …)"


class ErrorFacts:
    """What rules look at, read from an exception once."""

    __slots__ = ("error", "message", "status")

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.status = status_of(error)
        self.message = message_of(error)[:SEARCHED]


class Matcher(Protocol):
    """Whether a rule matches, and how narrowly: a smaller rank is a narrower match, None is no match."""

    def rank(self, facts: ErrorFacts) -> tuple[int, int] | None: ...


@dataclass(frozen=True, slots=True)
class MessageMatcher:
    """A pattern found anywhere in the error's message."""

    pattern: re.Pattern[str]

    def rank(self, facts: ErrorFacts) -> tuple[int, int] | None:
        return (0, 0) if self.pattern.search(facts.message) else None


@dataclass(frozen=True, slots=True)
class StatusMatcher:
    """An HTTP status from ``low`` to ``high``; the narrower range is the narrower match."""

    low: int
    high: int

    def rank(self, facts: ErrorFacts) -> tuple[int, int] | None:
        if facts.status is None or not self.low <= facts.status <= self.high:
            return None
        return (1, self.high - self.low)


@dataclass(frozen=True, slots=True)
class ClassMatcher:
    """An exception class, as ``except`` would match it; the nearest ancestor is the narrowest match."""

    cls: type[BaseException]

    def rank(self, facts: ErrorFacts) -> tuple[int, int] | None:
        mro = type(facts.error).__mro__
        return (2, mro.index(self.cls)) if self.cls in mro else None


@dataclass(frozen=True, slots=True)
class Rule:
    """What to do with the errors that ``matcher`` matches, from ``grace_s`` seconds of the job's life on."""

    action: Action
    matcher: Matcher
    grace_s: float = 0.0


def read_rules(action: Action, given: object) -> tuple[list[Rule], list[BadValue]]:
    """The rules that a contract gives for ``action``, single or as a list, and what cannot be one."""
    rules: list[Rule] = []
    bad: list[BadValue] = []
    for item in _as_list(given):
        try:
            rules.extend(_after(action, item) if isinstance(item, After) else [Rule(action, _matcher(item))])
        except BadValue as error:
            bad.append(error)
    return rules, bad


def _after(action: Action, held: After) -> list[Rule]:
    if action == "retry":
        raise BadValue("After() cannot hold a retry back", "the errors it holds back are retried; use it in discard_on")
    matchers = [_matcher(rule) for item in held.rules for rule in _as_list(item)]
    if not matchers:
        raise BadValue("After() has no rule", 'say which error: After("30s", Invoice.DoesNotExist)')
    grace_s = parse(held.grace) / timedelta(seconds=1)
    return [Rule(action, matcher, grace_s) for matcher in matchers]


def _as_list(given: object) -> list[object]:
    return list(given) if isinstance(given, (list, tuple, set, frozenset)) else [given]


def _matcher(item: object) -> Matcher:
    if isinstance(item, type) and issubclass(item, BaseException):
        return ClassMatcher(item)
    if isinstance(item, re.Pattern):
        if isinstance(item.pattern, str):
            return MessageMatcher(item)
        raise BadValue(f"{item.pattern!r} is a pattern for bytes", "compile it from a string")
    if isinstance(item, range):
        return _statuses(item, item.start, item.stop - 1) if item.step == 1 else _refuse(item)
    if isinstance(item, int) and not isinstance(item, bool):
        return _statuses(item, item, item)
    return _from_text(item) if isinstance(item, str) else _refuse(item)


def _from_text(text: str) -> Matcher:
    status = _STATUS.fullmatch(text.strip())
    if status:
        hundreds, low, high = status.groups()
        if hundreds:
            return _statuses(text, int(hundreds) * 100, int(hundreds) * 100 + 99)
        return _statuses(text, int(low), int(high or low))
    if not text.strip():
        raise BadValue("an empty pattern matches every error", _HINT)
    try:
        return MessageMatcher(re.compile(text))
    except (re.error, RecursionError, OverflowError) as error:
        raise BadValue(
            f"{text!r} is not a pattern ({error})", "escape it with re.escape() to match plain text"
        ) from None


def _statuses(item: object, low: int, high: int) -> StatusMatcher:
    if 100 <= low <= high <= 599:
        return StatusMatcher(low, high)
    raise BadValue(f"{item!r} is not an HTTP status", 'statuses are 100 to 599: 429, "5xx", "500-599"')


def _refuse(item: object) -> Matcher:
    raise BadValue(f"{item!r} sorts no errors", _HINT)
