"""What a form says of a snooze: until a time, until so many more deaths, or until another tenant is hit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dlq.errors import InvalidAction
from jobops.web.until import MORNING, MORNING_HOUR, until_of

GROWS, ANOTHER_TENANT = "grows", "tenant"
OFFERED = (
    ("1h", "for an hour"),
    ("4h", "for 4 hours"),
    (MORNING, f"until tomorrow, {MORNING_HOUR:02}:00"),
    ("7d", "for a week"),
    (GROWS, "until it grows by so many deaths"),
    (ANOTHER_TENANT, "until another tenant is hit"),
)


def snooze_of(form: Mapping[str, str], now: datetime) -> dict[str, Any]:
    """The arguments of ``group_snooze``, from the fields ``snooze`` and ``grows_by``. Raises ``InvalidAction``."""
    chosen = form.get("snooze", "")
    if chosen == ANOTHER_TENANT:
        return {"another_tenant": True}
    if chosen != GROWS:
        return {"until": until_of({"snooze": chosen}, "snooze", now)}
    text = form.get("grows_by", "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvalidAction("grows_by", "must be a whole number")
    return {"grows_by": int(text)}
