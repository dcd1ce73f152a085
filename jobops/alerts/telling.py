"""Who hears what in a round: firing, reminders, escalation, acknowledgements that run out, and the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q

from jobops.alerts.claiming import claimed, told_so_far
from jobops.alerts.models import Alert, Channel, Silence
from jobops.alerts.routing import ACKNOWLEDGED, ESCALATED, FIRED, REMINDER, RESOLVED, Switchboard, notify_together
from jobops.alerts.signals import SIGNALS
from jobops.alerts.silencing import in_force, silence_of
from jobops.alerts.urgency import remind_after

_FIRING = Q(state=Alert.State.FIRING, resolved_at__isnull=True)
MOST_TOLD = 500
"""Episodes of which one round tells; the others follow with the next."""


@dataclass(slots=True)
class Telling:
    """Writes the messages of one round, in its transaction. Those of one signal and owner become one message."""

    now: datetime
    board: Switchboard
    silences: Sequence[Silence]

    @classmethod
    def begin(cls, now: datetime) -> Telling:
        """Three queries."""
        return cls(now, Switchboard.read(), tuple(in_force(now)))

    def acknowledgements(
        self, alerts: Iterable[Alert], known: Mapping[str, str], *, read: Callable[[str], bool]
    ) -> int:
        """Fire again what was acknowledged for a time that is over; take over from what an alert is about that somebody
        deals with it already (``known``: key → who), and that nobody does any more."""
        told, changed = [], 0
        for alert in alerts:
            who = known.get(alert.key, "")
            if alert.state == Alert.State.FIRING and who:
                if self._acknowledge(alert, who):
                    told.append(alert)
                    changed += 1
            elif alert.state == Alert.State.ACKNOWLEDGED and self._ran_out(alert, who, read):
                changed += self._fire_again(alert)
        told_so_far(told)
        self._notify([alert for alert in told if alert.notices], ACKNOWLEDGED)
        return changed

    def standing(self, alerts: Iterable[Alert]) -> int:
        """Firing episodes of which nobody was told yet, of which to remind, and to escalate; silenced ones wait."""
        firing = [alert for alert in alerts if alert.state == Alert.State.FIRING and self._heard(alert)]
        fresh = [alert for alert in firing if alert.told_at is None][:MOST_TOLD]
        known = [alert for alert in firing if alert.told_at is not None]
        late = [alert for alert in known if alert.remind_at is not None and alert.remind_at <= self.now][:MOST_TOLD]
        fired = self._tell(fresh, Q(told_at__isnull=True), told_at=self.now)
        reminded = self._tell(late, Q(remind_at__lte=self.now))
        self._notify(fired, FIRED)
        self._notify(reminded, REMINDER)
        return len(fired) + len(reminded) + self._escalate(firing)

    def resolved(self, alerts: Sequence[Alert], worse: Iterable[str]) -> None:
        """Those who heard of an episode hear that it is over, also where it is silenced by now: an incident that is
        never closed is worse than one message. ``worse``: keys of the open episodes. One that ended as a worse one of
        the same subject began is closed where incidents are kept, and nobody is told that all is well."""
        standing = set(worse)
        told = [alert for alert in alerts if alert.notices]
        self._notify([alert for alert in told if _overruled_by(alert) not in standing], RESOLVED)
        overruled = [alert for alert in told if _overruled_by(alert) in standing]
        self._notify(overruled, RESOLVED, kinds={Channel.Kind.PAGERDUTY})

    def _escalate(self, firing: Iterable[Alert]) -> int:
        """Nobody has acknowledged it for as long as the team allows: whom it escalates to hears of it, once."""
        chosen: dict[str, list[Alert]] = {}
        for alert in firing:
            team = self.board.team_for(alert.owner)
            if alert.escalated_at is not None or team is None or team.escalates_to is None:
                continue
            since = alert.told_at or alert.since
            next_team = team.escalates_to.name
            if since + timedelta(minutes=team.escalate_after_min) > self.now:
                continue
            if not self.board.channels_for(next_team, alert.severity):
                continue
            chosen.setdefault(next_team, []).append(alert)
        count = 0
        for owner, alerts in chosen.items():
            mine = claimed(alerts, Q(escalated_at__isnull=True) & _FIRING, escalated_at=self.now)
            self._notify(mine, ESCALATED, owner=owner)
            count += len(mine)
        return count

    def _heard(self, alert: Alert) -> bool:
        return silence_of(alert, self.silences) is None

    def _tell(self, alerts: Sequence[Alert], while_it_is: Q, **changes: Any) -> list[Alert]:
        """Mark them as told; answers those that are ours to tell: not where there is no channel yet, nor where somebody
        else tells of it."""
        mine: list[Alert] = []
        for severity in {alert.severity for alert in alerts}:
            these = [each for each in alerts if each.severity == severity and self._has_channel(each)]
            marks = {**changes, "remind_at": self.now + remind_after(severity)}
            for alert in claimed(these, while_it_is & _FIRING, notices=F("notices") + 1, **marks):
                alert.notices += 1
                for name, value in marks.items():
                    setattr(alert, name, value)
                mine.append(alert)
        return mine

    def _has_channel(self, alert: Alert) -> bool:
        return bool(self.board.channels_for(alert.owner, alert.severity))

    def _acknowledge(self, alert: Alert, who: str) -> bool:
        marks = {"acknowledged_by": who[:150], "acknowledged_at": self.now, "acknowledged_until": None}
        if not claimed([alert], _FIRING, state=Alert.State.ACKNOWLEDGED, **marks):
            return False
        alert.state, alert.acknowledged_by = Alert.State.ACKNOWLEDGED, who[:150]
        alert.acknowledged_at, alert.acknowledged_until = self.now, None
        return True

    def _ran_out(self, alert: Alert, who: str, read: Callable[[str], bool]) -> bool:
        if alert.acknowledged_until is not None:
            return alert.acknowledged_until <= self.now and not who
        return not who and read(alert.signal)

    def _fire_again(self, alert: Alert) -> int:
        # As it was read: somebody may have given it more time meanwhile.
        until = alert.acknowledged_until
        as_read = Q(acknowledged_until__isnull=True) if until is None else Q(acknowledged_until=until)
        as_read &= Q(state=Alert.State.ACKNOWLEDGED, resolved_at__isnull=True)
        anew: dict[str, Any] = {"told_at": None, "remind_at": None, "escalated_at": None}
        done = claimed([alert], as_read, state=Alert.State.FIRING, **anew)
        if done:
            alert.state, alert.told_at, alert.remind_at, alert.escalated_at = Alert.State.FIRING, None, None, None
        return len(done)

    def _notify(
        self, alerts: Sequence[Alert], event: str, *, owner: str = "", kinds: Collection[str] | None = None
    ) -> None:
        """One message for those of one signal and owner."""
        together: dict[tuple[str, str], list[Alert]] = {}
        for alert in alerts:
            together.setdefault((alert.signal, alert.owner), []).append(alert)
        for group in together.values():
            notify_together(group, event, board=self.board, owner=owner, kinds=kinds)


def _overruled_by(alert: Alert) -> str:
    """The key of the worse alert of the same subject; empty where there is none such."""
    signal = SIGNALS.get(alert.signal)
    if signal is None or not signal.overruled_by:
        return ""
    return f"{signal.overruled_by}:{alert.key.partition(':')[2]}"
