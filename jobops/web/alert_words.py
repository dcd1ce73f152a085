"""Alerts in words: how one looks, what the page says first, and how long ago. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from dlq.models import Severity
from jobops.alerts.errors import AlertError, InvalidAlertAction
from jobops.alerts.messages import EVENTS
from jobops.alerts.models import Alert, AlertRule, Channel, Delivery, Silence
from jobops.alerts.reading import Standing
from jobops.alerts.signals import SIGNALS, YES_OR_NO, Signal
from jobops.contracts import durations
from jobops.web.formats import duration, listed, number, plain, plural, spelled
from jobops.web.words import Look

BREACHED, CRITICAL = Look("Breached", "octagon", "danger"), Look("Critical", "octagon", "danger")
WORST = (BREACHED, CRITICAL)
HIGH = Look("High", "alert-triangle", "danger")
NORMAL, LOW = Look("Normal", "alert-triangle", "warn"), Look("Low", "alert-circle", "calm")
STATES = {
    "firing": Look("Firing", "ring", "accent"),
    "acknowledged": Look("Acknowledged", "check", "calm"),
    "silenced": Look("Silenced", "bell-off", "hold"),
    "resolved": Look("Resolved", "check", "calm"),
}
DELIVERIES = {
    Delivery.State.WAITING.value: Look("Waiting", "clock", "calm"),
    Delivery.State.SENT.value: Look("Sent", "check", "calm"),
    Delivery.State.GIVEN_UP.value: Look("Given up", "x", "danger"),
}
KINDS = dict(Channel.Kind.choices)
PARTS = {
    "signal": "signal",
    "tenant": "tenant",
    "lane": "lane",
    "job_type": "job type",
    "team": "team",
    "group": "cause",
}


def look_of(alert: Alert) -> Look:
    """How urgent it is: the octagon is for what is critical, and for a deadline that is missed."""
    if alert.signal == "sla_breach":
        return BREACHED
    if alert.severity == Severity.CRITICAL:
        return CRITICAL
    return {Severity.HIGH.value: HIGH, Severity.LOW.value: LOW}.get(alert.severity, NORMAL)


def whose(alert: Alert) -> str:
    """Who has it, in words; the empty string while nobody has."""
    return f"{alert.acknowledged_by} has it" if alert.state == Alert.State.ACKNOWLEDGED else ""


def told_whom(owner: str, told: Sequence[Channel]) -> str:
    """Who heard first of an alert of this owner, by the ``told`` channels; without any, another one's message named it.
    A channel's team must be there."""
    teams = sorted({channel.team.name for channel in told if channel.team is not None})
    if owner in teams:
        return "Its team was told"
    if not told:
        return "It was told in one message with others"
    who = f"{listed(teams)} {'was' if len(teams) == 1 else 'were'} told" if teams else "Channels of no team were told"
    return f"{who}: {owner} has no channel for it"


def how_long(alert: Alert, now: datetime) -> str:
    """``for 33 min``; of one that is over, how long it was."""
    if alert.resolved_at is not None:
        return f"lasted {duration((alert.resolved_at - alert.since).total_seconds())}"
    return f"for {duration((now - alert.since).total_seconds())}"


def firing_title(standings: Sequence[Standing]) -> str:
    """What is wrong, and where to begin; the empty string while nothing is that people are told of."""
    loud = [each for each in standings if each.word in ("firing", "acknowledged")]
    if not loud:
        return ""
    open_ones = [each for each in loud if each.word == "firing"]
    if not open_ones:
        one = len(loud) == 1
        known = f"{spelled(len(loud))} {'thing is' if one else 'things are'} wrong"
        return f"{known}, and somebody has {'it' if one else 'each'}."
    held = len(loud) - len(open_ones)
    also = f"{spelled(held)} more {'is' if held == 1 else 'are'} acknowledged"
    if len(open_ones) == 1:
        title = stopped(open_ones[0].alert.title)
        return f"{title} {also}." if held else title
    also = f", {also.lower()}" if held else ""
    return f"{spelled(len(open_ones))} things are firing{also}. Start with {first_thing(open_ones[0].alert)}."


def alerts_title(standings: Sequence[Standing], given_up: int) -> str:
    """The page of alerts in one sentence or two."""
    text = firing_title(standings)
    if not text:
        silenced = sum(each.word == "silenced" for each in standings)
        text = f"Nothing is firing; {plural(silenced, 'alert')} silenced." if silenced else "Nothing is firing."
    if given_up:
        text += f" {plural(given_up, 'message')} did not reach {'its' if given_up == 1 else 'their'} channel today."
    return text


def first_thing(alert: Alert) -> str:
    """The shortest name of what an alert is about: its tenant, its job type, or its owner's part."""
    scope = alert.scope
    name = scope.get("tenant") or str(scope.get("job_type") or "").rpartition(".")[2]
    return str(name or f"{alert.owner}’s: {alert.title}").rstrip(".")


def sentence(text: str) -> str:
    """A refusal with a capital letter and a full stop."""
    return stopped(f"{text[:1].upper()}{text[1:]}")


def fault_words(error: AlertError, labels: Mapping[str, str]) -> str:
    """A refusal beside its form: the field by the name that it has there, and what would be right."""
    if isinstance(error, InvalidAlertAction):
        return stopped(f"{labels.get(error.field, error.field)}: {error.problem}")
    return sentence(str(error))


def stopped(text: str) -> str:
    """With a full stop, and otherwise as it is: it may begin with a name."""
    return text.strip() if text.rstrip().endswith((".", "!", "?", "…")) else f"{text.strip()}."


def about_words(scope: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What an alert is about, name by name."""
    return [(PARTS.get(name, name), str(value)) for name, value in scope.items() if value not in ("", None)]


def matcher_words(silence: Silence | AlertRule) -> str:
    """What a silence or a rule fits: ``tenant acme-*, signal depth``; "everything" without any part."""
    parts = [(word, getattr(silence, name, None)) for name, word in PARTS.items() if name != "signal"]
    if isinstance(silence, Silence):
        parts = [("signal", silence.signal), *parts]
    return ", ".join(f"{word} {value}" for word, value in parts if value) or "everything"


def threshold_words(signal: Signal | None, threshold: float | None) -> str:
    """``over 10,000 jobs``, ``below 3 minutes left``; of what is so or is not, nothing to compare with."""
    if signal is None:
        return plain(threshold)
    if signal.unit == YES_OR_NO:
        return "as soon as it is so"
    if threshold is None:
        return "off"
    side = "below" if signal.under else "over"
    return f"{side} {value_words(signal, threshold)}"


def value_words(signal: Signal | None, value: float) -> str:
    """A value in the signal's unit: ``48,210 jobs``, ``6.8 % of starts``."""
    shown = number(value) if value == int(value) else f"{value:,.1f}"
    if signal is None:
        return shown
    if signal.unit == YES_OR_NO:
        return "yes" if value else "no"
    return f"{shown} {_one(signal.unit) if value == 1 else signal.unit}"


def _one(unit: str) -> str:
    """The unit of a single one: ``dead letter`` of ``dead letters``, ``minute left`` of ``minutes left``."""
    for many in ("dead letters", "jobs", "seconds", "minutes", "times"):
        if unit.startswith(many):
            return many[:-1] + unit[len(many) :]
    return unit


def for_words(for_s: int) -> str:
    """How long it must hold."""
    return f"for {durations.show(timedelta(seconds=for_s))}" if for_s else "at once"


def signal_title(name: str) -> str:
    """A signal's title; its bare name for one that is no more."""
    return SIGNALS[name].title if name in SIGNALS else name


def event_word(event: str) -> str:
    """What a message tells of."""
    return EVENTS.get(event, event)
