"""Refusals of limits and pauses: a named error each, with one clear line of text."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches

from django.utils import timezone


class LimitError(Exception):
    """Base of every refusal here; ``str()`` of it is fit for a person."""


class NoEngine(LimitError):
    """No engine is plugged in."""

    def __init__(self) -> None:
        super().__init__("no engine is plugged in: it stays in the database until the scheduler puts it in force")


class InvalidLimit(LimitError):
    """A value that cannot be used; ``field`` is its name, ``problem`` what would be right."""

    def __init__(self, field: str, problem: str) -> None:
        self.field, self.problem = field, problem
        super().__init__(f"{field}: {problem}")


class UnknownName(InvalidLimit):
    """No job type or resource of this name is known to contracts, to Redis or to the database."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        what = {"type": "job type", "resource": "resource"}.get(kind, "job type or resource")
        near = get_close_matches(name, list(known), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`manage.py catalog` shows what there is"
        super().__init__("name", f"no {what} is called {name[:80]!r}; {hint}")


class Ambiguous(InvalidLimit):
    """A job type and a resource are both called so."""

    def __init__(self, name: str) -> None:
        super().__init__("name", f"{name!r} is both a job type and a resource: say --job {name} or --resource {name}")


class AlreadyPaused(LimitError):
    """Somebody paused it before; who, when and why stay as they said it."""

    def __init__(self, what: str, *, by: str, since: datetime, reason: str, problem: str = "") -> None:
        self.by, self.since, self.reason, self.problem = by, since, reason, problem
        at = f"{timezone.localtime(since):%Y-%m-%d %H:%M %Z}"
        text = f"{what} is already paused by {by} since {at}" + (f": {reason}" if reason else "")
        super().__init__(f"{text} (not in force yet: {problem})" if problem else text)


class NotPaused(LimitError):
    """There is no pause to lift."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not paused")


class NotChanged(LimitError):
    """Nobody has put anything in place of what the contracts declare."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the limits of {what} are as its contracts declare them: there is nothing to reset")


class NotBraked(LimitError):
    """No brake is on."""

    def __init__(self, what: str) -> None:
        super().__init__(f"no brake is on at {what}")
