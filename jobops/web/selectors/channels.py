"""Channels and thresholds as the settings show them: addresses masked, keys not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, F, Q, Window
from django.db.models.functions import RowNumber
from django.http import Http404
from django.utils import timezone

from jobops.alerts.channel_services import shown_target
from jobops.alerts.models import AlertRule, Channel, Delivery
from jobops.alerts.signals import SIGNALS, YES_OR_NO, Signal
from jobops.web import alert_words
from jobops.web.paging import Slice, slice_by_id
from jobops.web.words import Look
from tenants.models import Team

MOST = 500
WITHIN = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """A row of the list. ``sent``, ``waiting`` and ``given_up``: messages of a day; ``last``: the newest one."""

    channel: Channel
    kind: str
    target: str
    sent: int
    waiting: int
    given_up: int
    last: Delivery | None
    look: Look | None


def channel_lines() -> list[ChannelLine]:
    """Every channel; three queries."""
    channels = list(Channel.objects.select_related("team").order_by("name")[:MOST])
    counted = Delivery.objects.filter(created_at__gte=timezone.now() - WITHIN).values("channel_id", "state")
    counts = {(row["channel_id"], row["state"]): row["n"] for row in counted.annotate(n=Count("pk")).order_by()}
    newest = Window(RowNumber(), partition_by=F("channel_id"), order_by=F("pk").desc())
    rows = Delivery.objects.filter(channel__in=channels).defer("message").annotate(place=newest).filter(place=1)
    last = {row.channel_id: row for row in rows}
    return [line_of(channel, counts, last.get(channel.pk)) for channel in channels]


def line_of(channel: Channel, counts: Mapping[tuple[int, str], int], last: Delivery | None) -> ChannelLine:
    """A row."""
    sent, waiting, given_up = (counts.get((channel.pk, state.value), 0) for state in _STATES)
    look = alert_words.DELIVERIES[last.state] if last is not None else None
    return ChannelLine(
        channel, alert_words.KINDS[channel.kind], shown_target(channel), sent, waiting, given_up, last, look
    )


_STATES = (Delivery.State.SENT, Delivery.State.WAITING, Delivery.State.GIVEN_UP)


def get_channel(channel_id: int) -> Channel:
    """The channel; raises ``Http404``."""
    found = Channel.objects.select_related("team").filter(pk=channel_id).first() if channel_id < 2**63 else None
    if found is None:
        raise Http404("No such channel.")
    return found


def delivery_log(channel: Channel, params: Mapping[str, str]) -> Slice[Delivery]:
    """What was sent to it, the newest first."""
    return slice_by_id(Delivery.objects.filter(channel=channel).select_related("alert"), params, {})


def team_choices() -> list[str]:
    """The teams that a channel may belong to."""
    return list(Team.objects.order_by("name").values_list("name", flat=True)[:MOST])


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A threshold of one's own, in words."""

    rule: AlertRule
    where: str
    says: str


@dataclass(frozen=True, slots=True)
class SignalLine:
    """A signal with its default, and what stands beside it."""

    signal: Signal
    default: str
    holds: str
    has_threshold: bool
    rules: Sequence[RuleLine]


def signal_lines() -> list[SignalLine]:
    """Every signal in its order, with its rules; one query."""
    rules: dict[str, list[RuleLine]] = {}
    for rule in AlertRule.objects.order_by("pk")[: MOST * 4]:
        rules.setdefault(rule.signal, []).append(_rule_line(rule))
    return [
        SignalLine(
            signal=signal,
            default=alert_words.threshold_words(signal, signal.threshold),
            holds=alert_words.for_words(signal.for_s),
            has_threshold=signal.unit != YES_OR_NO,
            rules=rules.get(signal.name, ()),
        )
        for signal in SIGNALS.values()
    ]


def _rule_line(rule: AlertRule) -> RuleLine:
    signal = SIGNALS.get(rule.signal)
    if not rule.enabled:
        return RuleLine(rule, alert_words.matcher_words(rule), "off")
    says = [
        alert_words.threshold_words(signal, rule.threshold) if rule.threshold is not None else "",
        alert_words.for_words(rule.for_s) if rule.for_s is not None else "",
        f"severity {rule.severity}" if rule.severity else "",
        f"to {rule.owner}" if rule.owner else "",
    ]
    return RuleLine(rule, alert_words.matcher_words(rule), ", ".join(word for word in says if word) or "as its default")


def failing_recently(lines: Sequence[ChannelLine]) -> list[ChannelLine]:
    """The channels whose newest message did not arrive, or was given up."""
    return [
        line for line in lines if line.last is not None and (line.last.state == "given_up" or _is_failing(line.last))
    ]


def _is_failing(last: Delivery) -> bool:
    return last.state == Delivery.State.WAITING and last.attempts > 0 and bool(last.answer)


def chosen_rule(params: Mapping[str, str]) -> dict[str, Any]:
    """What the form of a rule begins with: a signal, or a rule that is to be changed."""
    name, number = params.get("signal", ""), params.get("rule", "")
    known = number.isascii() and number.isdigit() and len(number) < 19
    rule = AlertRule.objects.filter(Q(pk=int(number))).first() if known else None
    return {"signal": SIGNALS.get(rule.signal if rule is not None else name), "rule": rule}
