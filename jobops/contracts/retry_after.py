"""When to come back: what a ``Retry-After`` header, or a job's own word, says in seconds from now."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from jobops.contracts.durations import parse
from jobops.contracts.faults import BadValue

LONGEST_FROM_SERVER_S = 86_400.0
"""Seconds of a server's ``Retry-After`` that are honoured. A broken server must not park a job for years."""

_SECONDS = re.compile(r"\d{1,12}", re.ASCII)
_HINT = 'give a duration ("30s", a timedelta, seconds), an aware datetime, or the text of a Retry-After header'


def seconds_until(value: object) -> float:
    """Seconds from now until what ``value`` says: a duration, an aware datetime, or a header's text; never below 0.

    A header's text counts for a day at most. Raises BadValue (a ValueError) saying what is right.
    """
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise BadValue(f"{value!r} has no time zone", "give an aware datetime, such as timezone.now() + …")
        return max(0.0, value.timestamp() - time.time())
    if isinstance(value, str):
        said = from_header(value)
        if said is not None:
            return min(said, LONGEST_FROM_SERVER_S)
    try:
        return parse(value) / timedelta(seconds=1)
    except BadValue as error:
        raise BadValue(error.message, _HINT) from None


def from_header(text: str) -> float | None:
    """What a ``Retry-After`` header says: seconds or an HTTP date. None when it is neither."""
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:  # "-0000" and a missing zone; HTTP dates are always in GMT
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - time.time())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
