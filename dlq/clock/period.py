"""The time that a report is of: the last days, or from one day to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.utils import timezone

PERIODS = {"7d": timedelta(days=7), "30d": timedelta(days=30), "90d": timedelta(days=90)}
CUSTOM = "custom"
DEFAULT = "7d"
LONGEST = timedelta(days=731)


@dataclass(frozen=True, slots=True)
class Period:
    """From ``since`` until before ``until``. ``key``: one of ``PERIODS``, or ``custom`` with the first and last day."""

    key: str
    since: datetime
    until: datetime
    first: date | None = None
    last: date | None = None

    def as_params(self) -> dict[str, str]:
        """What ``parse`` reads as this period; nothing for the usual one."""
        if self.first is not None and self.last is not None:
            return {"period": CUSTOM, "from": self.first.isoformat(), "to": self.last.isoformat()}
        return {} if self.key == DEFAULT else {"period": self.key}


def last(key: str, now: datetime) -> Period:
    """The last days; ``key``: one of ``PERIODS``."""
    return Period(key, now - PERIODS[key], now)


def parse(params: Mapping[str, str], now: datetime) -> tuple[Period, dict[str, str]]:
    """The period that a query string asks for, and what of it was passed over: parameter → what would be right.

    Days begin in the zone that is active. Never raises: whatever cannot be meant becomes the usual period, and is said.
    """
    key = str(params.get("period") or DEFAULT).strip()
    if key in PERIODS:
        return last(key, now), {}
    if key != CUSTOM:
        return last(DEFAULT, now), {"period": f"must be one of {', '.join([*PERIODS, CUSTOM])}"}
    faults: dict[str, str] = {}
    days = {name: _day(str(params.get(name) or ""), name, faults) for name in ("from", "to")}
    first, final = days["from"], days["to"]
    if first is not None and final is not None:
        fault = _fault(first, final, timezone.localdate(now))
        if not fault:
            since, until = midnight(first), midnight(final + timedelta(days=1))
            return Period(CUSTOM, since, min(until, now), first, final), {}
        faults["to" if first > final else "from"] = fault
    return last(DEFAULT, now), faults


def _day(text: str, name: str, faults: dict[str, str]) -> date | None:
    try:
        # Only this form of those that Python reads, and no year that has no next day.
        found = date.fromisoformat(text.strip()) if len(text.strip()) == 10 else None
    except ValueError:
        found = None
    if found is None or not 2000 <= found.year <= 2999:
        faults[name] = "must be a day such as 2026-03-12"
        return None
    return found


def _fault(first: date, final: date, today: date) -> str:
    if first > final:
        return "must not be before the first day"
    if first > today:
        return "must not be after today"
    if final - first > LONGEST:
        return f"may be {LONGEST.days} days before the last day at most"
    return ""


def midnight(day: date) -> datetime:
    """When the day begins, in the zone of whoever asks."""
    return timezone.make_aware(datetime.combine(day, time.min))
