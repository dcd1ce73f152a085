"""How a reading stands to its threshold, and so what becomes of its episode. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256

from dlq.text import visible
from jobops.alerts.rules import Limit, Limits
from jobops.alerts.signals.base import Reading, Signal

LONGEST_KEY = 300


class Standing(Enum):
    """Over the threshold; between it and the one at which it clears; or calm."""

    OVER = "over"
    BETWEEN = "between"
    CALM = "calm"


@dataclass(frozen=True, slots=True)
class Judged:
    """A reading with what holds for it. ``key`` names the signal and its subject."""

    key: str
    signal: Signal
    reading: Reading
    limit: Limit
    standing: Standing


@dataclass(frozen=True, slots=True)
class Look:
    """What one round saw. ``read``: the signals that could be read, so that what they do not name is calm; ``unread``:
    the others, and why. ``whole``: every signal was asked. ``skews``: instants in the future, by what they were of."""

    judged: Mapping[str, Judged]
    read: frozenset[str]
    unread: Mapping[str, str] = field(default_factory=dict)
    whole: bool = True
    skews: Mapping[str, int] = field(default_factory=dict)

    @property
    def over(self) -> list[Judged]:
        """What is over its threshold, whether or not for long enough."""
        return [each for each in self.judged.values() if each.standing is Standing.OVER]

    def tells_of(self, signal: str) -> bool:
        """Whether silence about a subject of this signal says that it is calm. Of a signal that no longer exists a
        whole round says so."""
        return signal in self.read or (self.whole and signal not in self.unread)


def judged(signal: Signal, readings: Iterable[Reading], limits: Limits) -> list[Judged]:
    """Each reading of one signal with its standing."""
    found = []
    for reading in readings:
        limit = limits.of(signal, reading.scope, reading.owner, reading.threshold)
        standing = stands(reading.value, limit, under=signal.under)
        found.append(Judged(key_of(signal.name, reading.subject), signal, reading, limit, standing))
    return found


def stands(value: float, limit: Limit, *, under: bool = False) -> Standing:
    """At the threshold itself nothing fires."""
    if limit.threshold is None or value != value:  # not a number: nothing that one could act on
        return Standing.CALM
    far = value < limit.threshold if under else value > limit.threshold
    clear = value >= limit.clears_at if under else value <= limit.clears_at
    return Standing.OVER if far else Standing.CALM if clear else Standing.BETWEEN


def key_of(signal: str, subject: str) -> str:
    """As ``Alert.key`` holds it, whatever bytes it was made of: one too long ends in a digest of the whole."""
    key = visible(f"{signal}:{subject}")
    if len(key) <= LONGEST_KEY:
        return key
    digest = sha256(key.encode()).hexdigest()[:16]
    return f"{key[: LONGEST_KEY - 17]}~{digest}"


def gathered(rows: Sequence[Judged]) -> dict[str, Judged]:
    """By key; of two readings of one subject the worse one counts."""
    found: dict[str, Judged] = {}
    order = (Standing.CALM, Standing.BETWEEN, Standing.OVER)
    for each in rows:
        known = found.get(each.key)
        if known is None or order.index(each.standing) > order.index(known.standing):
            found[each.key] = each
    return found
