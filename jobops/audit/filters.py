"""Which rows of the audit are meant: one filter for the page, its links, the export and the command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from jobops.contracts import durations

LONGEST = 200
_TARGET = re.compile(r"([a-z_]+)[ :]+(\S.*)", re.ASCII)
_ACTION = re.compile(r"[a-z_]+(\.[a-z_]+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """What is asked of rows; an empty field asks nothing. All are text as people write it.

    ``who``: an actor's name, of a command also without ``command:``. ``what``: an action (``letter.replay``) or a kind
    of them (``letter``). ``tenant``: a slug. ``target``: ``letter:58112``. ``request``: a request's id. ``since`` and
    ``until``: a date, a time in the active zone, or how long ago (``2h``).
    """

    who: str = ""
    what: str = ""
    tenant: str = ""
    target: str = ""
    request: str = ""
    since: str = ""
    until: str = ""

    def as_query(self, **changes: str) -> str:
        """The filter, with these changes, as a query string without what is empty; it begins with ``?`` or is empty."""
        query = {name: value for name, value in asdict(replace(self, **changes)).items() if value}
        return f"?{urlencode(query)}" if query else ""

    @property
    def is_empty(self) -> bool:
        """Whether it asks nothing."""
        return self == AuditFilter()

    @property
    def target_parts(self) -> tuple[str, str]:
        """Kind and id of the target, both empty without one."""
        found = _TARGET.fullmatch(self.target)
        return (found[1], found[2]) if found else ("", "")

    @property
    def since_at(self) -> datetime | None:
        """The instant from which on."""
        return instant_of(self.since)

    @property
    def until_at(self) -> datetime | None:
        """The instant until which, itself not included."""
        return instant_of(self.until)


def parse(params: Mapping[str, str]) -> tuple[AuditFilter, dict[str, str]]:
    """The filter that the parameters ask for, and by name what is wrong with those that were passed over."""
    values, faults = {}, {}
    for name in AuditFilter.__dataclass_fields__:
        text = "".join(filter(str.isprintable, params.get(name, ""))).strip()[:LONGEST]
        fault = _fault(name, text) if text else ""
        if fault:
            faults[name] = fault
        else:
            values[name] = text
    return AuditFilter(**values), faults


def instant_of(text: str) -> datetime | None:
    """The instant that a date, a time (in the active zone unless it names one) or ``2h`` (ago) says; None for none."""
    try:
        return timezone.now() - durations.parse(text)
    except ValueError:
        pass
    try:
        at = parse_datetime(text)
        day = parse_date(text) if at is None else None
        if at is None and day is not None:
            at = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - made aware below
        if at is None:
            return None
        # PostgreSQL takes no offset of many hours.
        at = (timezone.make_aware(at) if timezone.is_naive(at) else at).astimezone(UTC)
        return at if 1970 <= at.year < 9999 else None
    except (ValueError, OverflowError):
        return None


def _fault(name: str, text: str) -> str:
    if name in ("since", "until") and instant_of(text) is None:
        return "write a date, a time such as 2026-03-12 03:00, or how long ago, such as 2h"
    if name == "target" and not _TARGET.fullmatch(text):
        return "write what it is and which, such as letter:58112"
    if name == "what" and not _ACTION.fullmatch(text):
        return "write an action such as letter.replay, or a kind of them such as letter"
    return ""
