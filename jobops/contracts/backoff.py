"""How long to wait before the next attempt: always within [0, cap], at any attempt."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Protocol

from jobops.contracts.durations import Duration, parse, show
from jobops.contracts.faults import BadValue, Fault, Kind

Jitter = Literal["full", "none"]

DEFAULT_CAP = timedelta(hours=1)
"""Used when a contract gives none, which is a fault: no wait is ever without a bound."""

_NO_CAP = Fault(
    Kind.BACKOFF_CAP,
    "backoff",
    "has no cap, so that its waits would grow for ever",
    f'give the longest wait: cap="5m" (until then {show(DEFAULT_CAP)} is used)',
)
_SECOND = timedelta(seconds=1)


class Uniform(Protocol):
    """A source of chance: the module ``random``, or a ``random.Random``."""

    def uniform(self, a: float, b: float, /) -> float: ...


@dataclass(frozen=True, slots=True)
class Backoff:
    """A rule for the waits between attempts. Made by ``exponential``, ``fixed``, ``linear`` or ``delays``.

    Durations are in any form that ``durations.parse`` reads. A bad value does not raise: it is kept in
    ``faults`` for the system check, and a safe one is used.
    """

    kind: Literal["exponential", "fixed", "linear", "delays"]
    steps_s: tuple[float, ...]
    cap_s: float
    factor: float = 1.0
    jitter: Jitter = "none"
    faults: tuple[Fault, ...] = ()

    @classmethod
    def exponential(
        cls, base: Duration = "1s", factor: float = 2, cap: Duration | None = None, jitter: Jitter = "full"
    ) -> Backoff:
        """``base`` × ``factor`` to the power of the attempts before, at most ``cap``; a random part of it."""
        found: list[Fault] = []
        steps = (_seconds("base", base, 1.0, found),)
        cap_s = _cap(cap, found)
        factor = _factor(factor, found)
        return cls("exponential", steps, cap_s, factor, _jitter(jitter, found), tuple(found))

    @classmethod
    def fixed(cls, delay: Duration, jitter: Jitter = "none") -> Backoff:
        """The same wait each time."""
        found: list[Fault] = []
        delay_s = _seconds("delay", delay, 30.0, found)
        return cls("fixed", (delay_s,), delay_s, jitter=_jitter(jitter, found), faults=tuple(found))

    @classmethod
    def linear(cls, base: Duration = "10s", cap: Duration | None = None, jitter: Jitter = "none") -> Backoff:
        """``base`` × the attempt's number, at most ``cap``."""
        found: list[Fault] = []
        steps = (_seconds("base", base, 10.0, found),)
        cap_s = _cap(cap, found)
        return cls("linear", steps, cap_s, jitter=_jitter(jitter, found), faults=tuple(found))

    @classmethod
    def delays(cls, delays: Iterable[Duration], jitter: Jitter = "none") -> Backoff:
        """These waits one after the other; the last one repeats."""
        found: list[Fault] = []
        given = _as_list(delays)
        if not given:
            found.append(_fault("delays", f"{delays!r} is not a list of waits", 'list at least one: ["1s", "5s"]'))
        steps = tuple(_seconds(f"delays[{i}]", delay, 30.0, found) for i, delay in enumerate(given)) or (30.0,)
        return cls("delays", steps, max(steps), jitter=_jitter(jitter, found), faults=tuple(found))

    def ceiling(self, attempt: int) -> float:
        """The longest wait, in seconds, after attempt number ``attempt`` (from 1)."""
        before = max(attempt, 1) - 1
        if self.kind == "delays":
            return self.steps_s[min(before, len(self.steps_s) - 1)]
        if self.kind == "fixed":
            return self.steps_s[0]
        try:
            growth = self.factor**before if self.kind == "exponential" else float(before + 1)
        except OverflowError:  # 2.0 ** 1024
            growth = math.inf
        # 0 × inf is no number, and a base of 0 means no wait.
        return min(self.cap_s, self.steps_s[0] * growth) if self.steps_s[0] else 0.0

    def delay(self, attempt: int, rng: Uniform) -> float:
        """Seconds to wait after attempt number ``attempt`` (from 1): always within [0, cap]."""
        ceiling = self.ceiling(attempt)
        return rng.uniform(0.0, ceiling) if self.jitter == "full" else ceiling

    def __str__(self) -> str:
        steps = ", ".join(show(timedelta(seconds=step)) for step in self.steps_s)
        grows = f" × {self.factor:g}" if self.kind == "exponential" else ""
        capped = f", at most {show(timedelta(seconds=self.cap_s))}" if self.kind in ("exponential", "linear") else ""
        return f"{self.kind} {steps}{grows}{capped}" + (", full jitter" if self.jitter == "full" else "")


def _as_list(delays: object) -> list[Any]:
    return list(delays) if isinstance(delays, Iterable) and not isinstance(delays, str) else []


def _fault(argument: str, message: str, hint: str) -> Fault:
    return Fault(Kind.VALUE, f"backoff {argument}", message, hint)


def _seconds(argument: str, value: Duration, instead: float, found: list[Fault]) -> float:
    try:
        return parse(value) / _SECOND
    except BadValue as error:
        found.append(_fault(argument, error.message, error.hint))
        return instead


def _cap(value: Duration | None, found: list[Fault]) -> float:
    if value is None:
        found.append(_NO_CAP)
        return DEFAULT_CAP / _SECOND
    return _seconds("cap", value, DEFAULT_CAP / _SECOND, found)


def _factor(value: object, found: list[Fault]) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 1 <= value <= 1_000:
        return float(value)
    found.append(_fault("factor", f"{value!r} is not a factor", "a number from 1 to 1000; 2 doubles each wait"))
    return 2.0


def _jitter(value: str, found: list[Fault]) -> Jitter:
    if value == "full":
        return "full"
    if value != "none":
        found.append(_fault("jitter", f"{value!r} is not known", 'say "full" or "none"'))
    return "none"
