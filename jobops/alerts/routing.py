"""Who is told of an alert: the channels of its owner's team, or else of the default team, and those of everybody.

The rows are written in the transaction that changes the episode, so that both happen or neither: what is sent, and
whether it arrives, is for ``jobops.alerts.sending``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from jobops.alerts.messages import message_of
from jobops.alerts.models import Alert, Channel, Delivery
from jobops.alerts.urgency import rank
from tenants.models import Team

FIRED, REMINDER, ESCALATED, ACKNOWLEDGED, RESOLVED = "fired", "reminder", "escalated", "acknowledged", "resolved"
MOST_ALSO = 20
"""Others of one message that are named in it; of the rest it says how many."""


@dataclass(frozen=True, slots=True)
class Switchboard:
    """The teams and their channels as of one moment: read once for all that a round tells."""

    teams: dict[str, Team]
    channels: tuple[Channel, ...]

    @classmethod
    def read(cls) -> Switchboard:
        """Two queries."""
        teams = {team.name: team for team in Team.objects.select_related("escalates_to")}
        return cls(teams, tuple(Channel.objects.filter(enabled=True).order_by("pk")))

    def team_for(self, owner: str) -> Team | None:
        """The owner's team; the default team where the owner is none; None where there is no such team either."""
        return self.teams.get(owner) or self.teams.get(settings.JOBOPS_DEFAULT_OWNER)

    def channels_for(self, owner: str, severity: str) -> list[Channel]:
        """Where an alert of this owner goes: a team without a channel is told through the default team's."""
        team, default = self.teams.get(owner), self.teams.get(settings.JOBOPS_DEFAULT_OWNER)
        own = self._of(team) or self._of(default)
        chosen = [*own, *(each for each in self.channels if each.team_id is None)]
        return [each for each in chosen if rank(severity) >= rank(each.least_severity)]

    def _of(self, team: Team | None) -> list[Channel]:
        return [each for each in self.channels if team is not None and each.team_id == team.pk]


def notify(alert: Alert, event: str, *, board: Switchboard | None = None, owner: str = "") -> int:
    """Have this event of one alert told; answers how many messages that makes. Call it in the episode's transaction.

    ``owner``: whom to tell instead of the alert's own owner.
    """
    return notify_together([alert], event, board=board, owner=owner)


def notify_together(
    alerts: Sequence[Alert],
    event: str,
    *,
    board: Switchboard | None = None,
    owner: str = "",
    kinds: Collection[str] | None = None,
) -> int:
    """One message to each channel for all of these alerts, which have one signal and one owner; PagerDuty, which opens
    and closes each incident by its key, gets one for each.

    A message that was written before, by whomever, is not written again. ``kinds``: to channels of these only. Answers
    how many there are.
    """
    if not alerts:
        return 0
    lines = board or Switchboard.read()
    ordered = sorted(alerts, key=lambda each: (-rank(each.severity), each.pk))
    rows: list[Delivery] = []
    for channel, heard in _addressed(ordered, event, lines, owner):
        if kinds is not None and channel.kind not in kinds:
            continue
        if channel.kind == Channel.Kind.PAGERDUTY:
            rows += [_delivery(each, channel, event, []) for each in heard]
        else:
            rows.append(_delivery(heard[0], channel, event, heard[1:]))
    Delivery.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
    return len(rows)


def _addressed(
    alerts: Sequence[Alert], event: str, lines: Switchboard, owner: str
) -> list[tuple[Channel, list[Alert]]]:
    """Each channel with what it hears of, the most severe first. That somebody has it, or that it is over, is told also
    where the beginning was: the owner or the severity may be another one since."""
    found: dict[int, dict[int, Alert]] = {}
    for alert in alerts:
        for channel in lines.channels_for(owner or alert.owner, alert.severity):
            found.setdefault(channel.pk, {})[alert.pk] = alert
    if event in (ACKNOWLEDGED, RESOLVED):
        by_id = {alert.pk: alert for alert in alerts}
        told = Delivery.objects.filter(alert__in=list(by_id)).order_by("alert", "channel")
        for alert_id, channel_id in told.values_list("alert", "channel").distinct():
            found.setdefault(channel_id, {}).setdefault(alert_id, by_id[alert_id])
    return [(channel, list(found[channel.pk].values())) for channel in lines.channels if found.get(channel.pk)]


def _delivery(alert: Alert, channel: Channel, event: str, others: Sequence[Alert]) -> Delivery:
    """``n`` of the key is how often it was told before: the same event of the same notice is one message."""
    message: dict[str, Any] = message_of(alert, event)
    if others:
        named = [{"alert": each.pk, "key": each.key, "title": each.title, "path": each.path} for each in others]
        also = {"also": named[:MOST_ALSO], "also_count": len(others), "also_alerts": [each.pk for each in others]}
        message |= also
    return Delivery(
        key=f"{alert.pk}:{channel.pk}:{event}:{alert.notices}",
        alert=alert,
        channel=channel,
        event=event,
        message=message,
    )
