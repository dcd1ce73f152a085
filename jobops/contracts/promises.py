"""Reads the values of a contract. What is missing or cannot be used becomes a fault, and a safe value is used."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from jobops.contracts import durations
from jobops.contracts.backoff import Backoff
from jobops.contracts.faults import BadValue, Fault, Kind
from jobops.contracts.job_type import (
    DEFAULT_BACKOFF,
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_TIMEOUT,
    Fingerprint,
    OnUnknown,
)
from jobops.engine.rates import RATE_HINT, Rate, parse_rate
from jobops.engine.records import OnFull
from jobops.engine.validation import LANE_PATTERN, RESOURCE_PATTERN

MOST_ATTEMPTS = 10_000
LONGEST_TIMEOUT = timedelta(days=7)

NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,198}[A-Za-z0-9_])?", re.ASCII)
LANE = re.compile(LANE_PATTERN)
RESOURCE = re.compile(RESOURCE_PATTERN)
OWNER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,48}[A-Za-z0-9])?", re.ASCII)

_NAME_HINT = "letters, digits, '_', '-' and '.', at most 200, such as \"billing.send_invoice\""
_RESOURCE_HINT = "what all its callers share: a-z, 0-9, '_', '.' and '-', at most 50, such as \"stripe\""
_LANE_HINT = 'one of the configured lanes, such as "bulk"'
_OWNER_HINT = "the team that drains its dead letters: letters, digits, spaces, '.', '_' and '-', such as \"billing\""


class Promises:
    """Reads one contract's arguments and collects their faults."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def fault(self, argument: str, message: str, hint: str, kind: Kind = Kind.VALUE) -> None:
        """Keep a fault of ``argument``."""
        self.faults.append(Fault(kind, argument, message, hint))

    def name(self, value: object, func: Callable[..., Any]) -> str:
        """The type's name; by default module and function."""
        default = f"{getattr(func, '__module__', None) or 'unknown'}.{getattr(func, '__name__', 'unnamed')}"
        if value is not None:
            return self._matching("name", value, NAME, _NAME_HINT) or default
        if not NAME.fullmatch(default):
            self.fault("name", f"by default is {default!r}, which cannot be used", f"give a name= of {_NAME_HINT}")
        return default

    def aliases(self, value: object) -> tuple[str, ...]:
        """The names it was called before."""
        names = [self._matching("aliases", item, NAME, _NAME_HINT) for item in self._names("aliases", value)]
        return tuple(name for name in names if name)

    def owner(self, value: object) -> str:
        """The owning team."""
        if value is None or value == "":
            self.fault("owner", "is missing", f"name {_OWNER_HINT}", Kind.OWNER)
            return ""
        return self._matching("owner", value, OWNER, _OWNER_HINT)

    def lane(self, value: object) -> str:
        """The lane; empty for the default one."""
        return "" if value is None else self._matching("lane", value, LANE, _LANE_HINT)

    def drain_sla(self, value: object) -> timedelta | None:
        """By when a dead letter must have been drained."""
        if value is None:
            hint = 'say by when its owner must have drained a dead letter: drain_sla="4h"'
            self.fault("drain_sla", "is missing", hint, Kind.DRAIN_SLA)
            return None
        return self._duration("drain_sla", value, durations.LONGEST)

    def timeout(self, value: object) -> timedelta:
        """How long a run may take."""
        if value is None:
            hint = f'say how long a run may take: timeout="30s" (until then {durations.show(DEFAULT_TIMEOUT)} is used)'
            self.fault("timeout", "is not set", hint, Kind.TIMEOUT)
            return DEFAULT_TIMEOUT
        return self._duration("timeout", value, LONGEST_TIMEOUT) or DEFAULT_TIMEOUT

    def lease(self, value: object) -> timedelta | None:
        """How long a lease lasts without a renewal; None for the configured time."""
        return None if value is None else self._duration("lease", value, timedelta(hours=1))

    def idempotency(self, idempotent: object, guard: object) -> tuple[str, Callable[..., str] | None]:
        """Why a second run is safe, or the guard that makes it safe."""
        if idempotent is None and guard is None:
            hint = (
                'a job may run twice: say why that is safe (idempotent="upserts by invoice id"), '
                "or give a guard= from the arguments to the key under which a run counts as done"
            )
            self.fault("idempotent", "and guard are both missing", hint, Kind.IDEMPOTENCY)
        reason = ""
        if idempotent is not None:
            if isinstance(idempotent, str) and idempotent.strip():
                reason = idempotent.strip()
            else:
                self.fault("idempotent", f"{idempotent!r} is no sentence", 'say why: "upserts by invoice id"')
        if guard is not None and not callable(guard):
            self.fault("guard", f"{guard!r} is not a function", "give a function from the job's arguments to a key")
            guard = None
        return reason, guard

    def resource(self, value: object) -> str:
        """What it needs while it runs; empty: nothing."""
        return "" if value is None else self._matching("resource", value, RESOURCE, _RESOURCE_HINT)

    def concurrency(self, value: object) -> int | None:
        """Most jobs in flight at once; None: any number."""
        return self._count("concurrency", value, 1, 100_000)

    def rate(self, value: object) -> Rate | None:
        """Most starts in a time; None: any number."""
        if value is None:
            return None
        try:
            return parse_rate(value)  # type: ignore[arg-type]
        except ValueError as error:
            self.fault("rate", str(error).partition("; ")[0], RATE_HINT)
            return None

    def dedup_window(self, value: object) -> timedelta | None:
        """How long after a success its key still stands for it."""
        return None if value is None else self._duration("dedup_window", value, timedelta(days=30))

    def result_ttl(self, value: object) -> timedelta | None:
        """How long a finished job is kept; None: the usual time."""
        return None if value is None else self._duration("result_ttl", value, timedelta(days=30))

    def keep_results(self, value: object) -> int | None:
        """How many finished jobs of a tenant are kept; None: any number."""
        return self._count("keep_results", value, 1, 1_000_000)

    def on_full(self, value: object) -> OnFull:
        """What is done at the depth limit."""
        if value in ("refuse", "spill", "drop_oldest"):
            return value
        self.fault("on_full", f"{value!r} is not known", 'say "refuse", "spill" or "drop_oldest"')
        return "refuse"

    def on_unknown(self, value: object) -> OnUnknown:
        """What is done when nobody knows whether the effect happened."""
        if value in ("run", "dead"):
            return value
        self.fault("on_unknown", f"{value!r} is not known", 'say "run" or "dead"')
        return "run"

    def fingerprint(self, value: object) -> Fingerprint | None:
        """Which of its deaths have one cause; None: as it is told of all."""
        if value is None:
            return None
        hint = "give a function of three arguments: the error's class, its message and the job's arguments by name"
        if not callable(value):
            self.fault("fingerprint", f"{value!r} is not a function", hint)
            return None
        try:
            inspect.signature(value).bind("", "", {})
        except TypeError:
            self.fault("fingerprint", f"{value!r} does not take these three arguments", hint)
            return None
        except ValueError:  # it does not tell what it takes
            pass
        return value

    def _count(self, argument: str, value: object, least: int, most: int) -> int | None:
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and least <= value <= most):
            return value
        self.fault(argument, f"{value!r} cannot be used", f"a whole number from {least} to {most:,}, or none")
        return None

    def max_attempts(self, value: object) -> int:
        """How often it may start."""
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_ATTEMPTS:
            return value
        self.fault("max_attempts", f"{value!r} is no number of attempts", f"a whole number from 1 to {MOST_ATTEMPTS}")
        return DEFAULT_MAX_ATTEMPTS

    def backoff(self, value: object) -> Backoff:
        """The waits between attempts."""
        if value is None:
            return DEFAULT_BACKOFF
        if not isinstance(value, Backoff):
            hint = 'give Backoff.exponential(base="1s", cap="5m"), .fixed("30s"), .linear(…) or .delays(["1s", "5s"])'
            self.fault("backoff", f"{value!r} is no Backoff", hint)
            return DEFAULT_BACKOFF
        self.faults += value.faults
        return value

    def redact(self, value: object, signature: inspect.Signature) -> frozenset[str]:
        """The names of the arguments to mask."""
        names = frozenset(item for item in self._names("redact", value) if isinstance(item, str))
        takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
        for name in sorted(names - set(signature.parameters)):
            if not takes_any:
                self.fault("redact", f"the function has no argument {name!r}", f"its arguments are {signature}")
        return names

    def signature(self, func: Callable[..., Any]) -> inspect.Signature:
        """How the function is called; faults for what cannot run as a job."""
        hint = "a job is a plain function of a module"
        if inspect.iscoroutinefunction(func) or inspect.isasyncgenfunction(func):
            self.fault("function", "is async, and calling it runs nothing", f"{hint}; use asyncio.run() inside it")
        elif inspect.isgeneratorfunction(func):
            self.fault("function", "is a generator, and calling it runs nothing", f"{hint}; do not yield in it")
        elif "." in getattr(func, "__qualname__", "").rpartition("<locals>.")[2]:
            self.fault("function", "is a method, and a job has no object to call it on", hint)
        try:
            return inspect.signature(func)
        except (TypeError, ValueError):
            self.fault("function", "does not tell its arguments", hint)
            return inspect.signature(lambda *args, **kwargs: None)

    def _matching(self, argument: str, value: object, pattern: re.Pattern[str], hint: str) -> str:
        if isinstance(value, str) and pattern.fullmatch(value):
            return value
        self.fault(argument, f"{value!r} cannot be used", hint)
        return ""

    def _names(self, argument: str, value: object) -> list[object]:
        if isinstance(value, str):
            return [value]
        if isinstance(value, (list, tuple, set, frozenset)):
            return [item for item in value if isinstance(item, str) or self._not_text(argument, item)]
        return [value] if self._not_text(argument, value) else []

    def _not_text(self, argument: str, item: object) -> bool:
        self.fault(argument, f"{item!r} is no name", "give names as strings")
        return False

    def _duration(self, argument: str, value: object, longest: timedelta) -> timedelta | None:
        try:
            duration = durations.parse(value)
        except BadValue as error:
            self.fault(argument, error.message, error.hint)
            return None
        if timedelta(milliseconds=1) <= duration <= longest:
            return duration
        self.fault(argument, f"{value!r} is out of bounds", f"more than 0 and at most {durations.show(longest)}")
        return None
