"""How drain clocks read: where one stands, and what comes of it at this rate. Pure."""

from __future__ import annotations

from datetime import datetime

from dlq.clock.forecast import Forecast
from dlq.clock.standing import Kind, Standing
from jobops.web.formats import NBSP, clock, due, duration, number
from jobops.web.words import Look

LOOKS = {
    Kind.ON_TRACK: Look("On track", "clock", ""),
    Kind.WARNING: Look("Warning", "alert-triangle", "warn"),
    Kind.BREACHED: Look("Breached", "octagon", "danger"),
    Kind.PAUSED: Look("Clock paused", "clock-pause", ""),
    Kind.DRAINED: Look("Drained", "check", ""),
}
"""How each standing looks: its word, its icon, its colour class."""


def due_words(stands: Standing, due_at: datetime | None, now: datetime) -> str:
    """The clock in a few words: ``33 min late``, ``Due in 40 min``, ``Clock paused``."""
    if stands.kind in (Kind.PAUSED, Kind.DRAINED):
        return LOOKS[stands.kind].word
    return due(due_at, now)


def forecast_words(
    stands: Standing | None,
    forecast: Forecast | None,
    *,
    overdue: int | None = None,
    soon: int | None = None,
) -> str:
    """What comes of it, as one line without a full stop: ``Breaches in 40 min at this rate``. Empty: nothing to say.

    ``overdue``: how many are late now; ``soon``: how many more will be within ten minutes.
    """
    if stands is None or stands.kind in (Kind.PAUSED, Kind.DRAINED):
        return ""
    if stands.kind is Kind.BREACHED and overdue:
        more = f", {number(soon)} more in 10{NBSP}min" if soon else ""
        return f"{number(overdue)} overdue{more}"
    return _at_this_rate(stands, forecast) if forecast is not None else ""


def _at_this_rate(stands: Standing, forecast: Forecast) -> str:
    drained = forecast.drained_in
    rests = forecast.nothing_drained or forecast.still_s is not None
    if forecast.breaches_in and not (rests and stands.kind is not Kind.WARNING):
        return f"Breaches in {duration(forecast.breaches_in)} at this rate"
    if drained is not None:
        return f"Drained in {duration(max(60.0, drained))} at this rate"
    if forecast.as_usual:
        return f"{number(forecast.died_week)} a week, as usual"
    if forecast.still_s is not None:
        return f"Nothing drained for {duration(max(60.0, forecast.still_s))}"
    return "Nothing drained yet" if forecast.nothing_drained else "Not drained at this rate"


def rate_words(forecast: Forecast) -> str:
    """What comes of a team at this rate, under a heading that says so: ``breaches in 40 min``, ``drained in 2 h``."""
    if forecast.still_s is not None:
        return f"nothing drained for {duration(max(60.0, forecast.still_s))}"
    if forecast.breaches_in and not forecast.nothing_drained:
        return f"breaches in {duration(forecast.breaches_in)}"
    if forecast.drained_in is not None:
        return f"drained in {duration(max(60.0, forecast.drained_in))}"
    return "nothing drained in an hour" if forecast.nothing_drained else "not drained"


def standing_line(
    stands: Standing | None,
    forecast: Forecast | None,
    *,
    overdue: int | None = None,
    soon: int | None = None,
) -> str:
    """The standing and what comes of it: ``Warning. Breaches in 40 min at this rate``."""
    if stands is None:
        return ""
    what = forecast_words(stands, forecast, overdue=overdue, soon=soon)
    return f"{LOOKS[stands.kind].word}. {what}" if what else LOOKS[stands.kind].word


def pause_words(until: datetime | None, reason: str, now: datetime) -> str:
    """Until when a clock stands still, and why: ``until Mon 09:00, provider form sent``. Empty: it does not."""
    if until is None or until <= now:
        return ""
    return f"until {clock(until, now)}{f', {reason}' if reason else ''}"
