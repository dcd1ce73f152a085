"""The words of limits and pauses: the page in one sentence, and each row's state. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from jobops.engine.rates import Rate, parse_rate
from jobops.limits.models import Pause
from jobops.limits.reading import LimitRow, Limits
from jobops.web.formats import NBSP, clock, clock_seconds, duration, listed, number, plural
from jobops.web.words import Look

MOST_NAMES = 3
LOOKS = {
    "paused": Look("Paused", "pausef", "hold"),
    "braked": Look("Brake is on", "hourglass", "warn"),
    "full": Look("At its limit", "tobar", "warn"),
    "unknown": Look("Not known yet", "alert-triangle", "warn"),
    "calm": Look("Open", "check", "calm"),
}
_SPANS = {"s": "second", "m": "minute", "h": "hour", "d": "day"}


def looks_of(row: LimitRow) -> list[Look]:
    """All that holds its jobs back, the strongest first; one at least: that nothing does."""
    found: list[Look] = []
    if row.pause is not None or row.view.paused:
        found.append(LOOKS["paused"])
    if row.brake_until is not None:
        found.append(LOOKS["braked"])
    if row.undeclared and not row.view.known:
        found.append(LOOKS["unknown"])
    most = row.limit.concurrency
    if most is not None and row.view.inflight >= most and row.view.waiting:
        found.append(LOOKS["full"])
    return found or [LOOKS["full" if row.view.waiting else "calm"]]


def limits_title(found: Limits) -> str:
    """The page in one sentence: what holds most back comes first."""
    if found.everything is not None or found.all_paused:
        return "Everything is paused: no job of any tenant starts."
    held = []
    if found.paused:
        names = [str(row.target) for row in found.paused]
        held.append(f"{_names(names)} {'is' if len(names) == 1 else 'are'} paused.")
    if found.braked:
        names = [str(row.target) for row in found.braked]
        held.append(f"The brake is on at {_names(names, first=False)}.")
    if held:
        return " ".join(held)
    waiting = [row for row in found.rows if row.view.waiting]
    if waiting:
        jobs = sum(row.view.waiting for row in waiting)
        those = _names([str(row.target) for row in waiting], first=False)
        return f"{plural(jobs, 'job')} {'waits' if jobs == 1 else 'wait'} for {those}."
    return "Nothing waits for a limit." if found.rows else "Nothing is limited."


def paused_words(pause: Pause | None, now: datetime) -> str:
    """By whom, since when and why; of a pause that only Redis knows, that nobody knows."""
    if pause is None:
        return "nobody here paused it; the scheduler lets it go"
    why = f": “{pause.reason.rstrip('.')}”" if pause.reason else ""
    return f"by {pause.paused_by} since {clock(pause.paused_at, now)}{why}"


def rate_words(rate: Rate | None) -> str:
    """``50 a second``, ``2 in 3 s``; empty for any."""
    if rate is None:
        return ""
    count, _, time = str(rate).partition("/")
    if time in _SPANS:
        return f"{number(int(count))} a{NBSP}{_SPANS[time]}"
    return f"{number(int(count))} in {duration(rate.per_ms / 1000)}"


def own_rate_words(text: str) -> str:
    """A tenant's rate for its own people, as a sentence after others; empty without one."""
    try:
        rate = parse_rate(text) if text else None
    except ValueError:  # written past the services, and not in force
        rate = None
    return f" At most {rate_words(rate)} start." if rate is not None else ""


@dataclass(frozen=True, slots=True)
class Banner:
    """A line of the overview that says what holds jobs back: what stands out, and the rest."""

    icon: str
    title: str
    text: str


def banners_of(found: Limits, now: datetime) -> list[Banner]:
    """What is paused, by whom and why, and which brakes are on; a few of each, the others counted."""
    told: list[Banner] = []
    if found.everything is not None or found.all_paused:
        told.append(Banner("pausef", "Everything is paused", f"{paused_words(found.everything, now)}."))
    told += [
        Banner("pausef", f"{first_letter(str(row.target))} is paused", f"{paused_words(row.pause, now)}.")
        for row in found.paused[:MOST_NAMES]
    ]
    told += [
        Banner("hourglass", f"The brake is on at {row.target}", f"until {clock_seconds(row.brake_until)}{_waits(row)}.")
        for row in found.braked[:MOST_NAMES]
    ]
    more = sum(max(0, len(rows) - MOST_NAMES) for rows in (found.paused, found.braked))
    if more:
        told.append(Banner("pausef", f"{more:,} more", "are paused or have a brake on."))
    return told


def _waits(row: LimitRow) -> str:
    waiting = row.view.waiting
    return f"; {plural(waiting, 'job')} {'waits' if waiting == 1 else 'wait'} for it" if waiting else ""


def _names(names: Sequence[str], *, first: bool = True) -> str:
    shown = list(names[:MOST_NAMES])
    if len(names) > MOST_NAMES:
        shown.append(f"{len(names) - MOST_NAMES:,} more")
    return first_letter(listed(shown)) if first else listed(shown)


def first_letter(text: str) -> str:
    """The text as a sentence begins."""
    return text[:1].upper() + text[1:]
