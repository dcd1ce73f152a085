"""What the values of people's acts may be; each fault is one ``InvalidAlertAction`` that says what would be right."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any

from django.utils import timezone

from jobops.alerts import existing
from jobops.alerts.errors import InvalidAlertAction
from jobops.alerts.matching import PARTS
from jobops.alerts.models import AlertRule, Silence
from jobops.alerts.signals import SIGNALS, YES_OR_NO
from jobops.alerts.urgency import SEVERITIES
from jobops.contracts.promises import OWNER

LONGEST_ACK_MIN = 7 * 24 * 60
LONGEST_SILENCE = timedelta(days=90)
LONGEST_FOR_S = 24 * 3600


class Unset:
    """Stands for "leave it as it is", where None stands for "as the signal has it"."""


UNSET = Unset()


def clean_minutes(value: object) -> int:
    """For how long an acknowledgement holds."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LONGEST_ACK_MIN:
        raise InvalidAlertAction("minutes", f"must be a whole number from 1 to {LONGEST_ACK_MIN:,} (a week)")
    return value


def clean_reason(value: str) -> str:
    """Why nobody is told."""
    text, most = one_line(value), Silence._meta.get_field("reason").max_length or 0
    if not text:
        raise InvalidAlertAction("reason", "say why, for those who miss an alert")
    if len(text) > most:
        raise InvalidAlertAction("reason", f"must be at most {most} characters, not {len(text)}")
    return text


def clean_end(value: datetime, now: datetime) -> datetime:
    """When a silence ends."""
    if timezone.is_naive(value):
        raise InvalidAlertAction("ends_at", "must be an instant with its time zone")
    if value <= now:
        raise InvalidAlertAction("ends_at", "must lie in the future")
    if value > now + LONGEST_SILENCE:
        raise InvalidAlertAction("ends_at", f"must be within {LONGEST_SILENCE.days} days: nothing is silenced for good")
    # PostgreSQL takes no offset of many hours.
    return value.astimezone(UTC)


def clean_matcher(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a silence's matcher, each of them there."""
    known = ("signal", *PARTS, "group")
    values = _globs(given, known[:-1], Silence)
    group = given.get("group")
    if group in ("", None):
        group = None
    elif isinstance(group, bool) or not isinstance(group, int) or not 0 < group < 2**63:
        raise InvalidAlertAction("group", "must be the number of a cause, as its page has it")
    if group is None and not any(values.values()):
        raise InvalidAlertAction("signal", "say what to silence: a signal, tenant, lane, job type, team or cause")
    if values["signal"] and not existing.is_pattern(values["signal"]):
        clean_signal(values["signal"])
    _known_only(given, known)
    parts = [name for name in (*PARTS, "group") if (group if name == "group" else values[name])]
    existing.check_parts(values["signal"], parts, always=("team",))
    existing.check_names({name: values[name] for name in PARTS})
    if group is not None:
        existing.check_cause(group)
    return {**values, "group": group}


def clean_scope(signal: str, given: Mapping[str, Any]) -> dict[str, str]:
    """Where a rule of this signal holds."""
    _known_only(given, PARTS)
    values = _globs(given, PARTS, AlertRule)
    existing.check_parts(signal, [name for name in PARTS if values[name]])
    existing.check_names(values)
    return values


def clean_signal(name: str) -> str:
    """The name of a signal."""
    if not name:
        raise InvalidAlertAction("signal", "choose one")
    if name not in SIGNALS:
        near = get_close_matches(str(name), list(SIGNALS), n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(SIGNALS)}"
        raise InvalidAlertAction("signal", f"no signal is called {str(name)[:60]!r}; {hint}")
    return name


def clean_rule(signal: str, **given: object) -> dict[str, Any]:
    """What a rule says, without what was not given."""
    cleaners: dict[str, Callable[[object], Any]] = {
        "threshold": _threshold,
        "for_s": _for_s,
        "severity": _severity,
        "owner": _owner,
        "enabled": bool,
    }
    values = {name: cleaners[name](value) for name, value in given.items() if not isinstance(value, Unset)}
    if values.get("threshold") is not None and SIGNALS[signal].unit == YES_OR_NO:
        raise InvalidAlertAction("threshold", f"{signal} has none: it is so or it is not; switch it off instead")
    return values


def one_line(value: object) -> str:
    """The text without control characters and line breaks."""
    return " ".join("".join(char if char.isprintable() else " " for char in str(value)).split())


def _threshold(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        shown = f"{value:g}" if isinstance(value, (int, float)) else repr(value)
        raise InvalidAlertAction("threshold", f"must be a number, 0 or more; not {shown}")
    return float(value)


def _for_s(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LONGEST_FOR_S:
        raise InvalidAlertAction("for_s", f"must be a whole number of seconds from 0 to {LONGEST_FOR_S:,}")
    return value


def _severity(value: object) -> str:
    if value != "" and value not in SEVERITIES:
        raise InvalidAlertAction("severity", f"must be one of {', '.join(SEVERITIES)}, or empty for the signal's own")
    return str(value)


def _owner(value: object) -> str:
    text = str(value).strip()
    if text and not OWNER.fullmatch(text):
        raise InvalidAlertAction("owner", f"{text[:60]!r} cannot be the name of a team")
    existing.check_team(text)
    return text


def _globs(given: Mapping[str, Any], names: tuple[str, ...], model: Any) -> dict[str, str]:
    values = {}
    for name in names:
        text = one_line(given.get(name) or "")
        most = model._meta.get_field(name).max_length
        if len(text) > most:
            raise InvalidAlertAction(name, f"must be at most {most} characters, not {len(text)}")
        values[name] = text
    return values


def _known_only(given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            raise InvalidAlertAction(str(name), f"is no part of it; there are {', '.join(known)}")
