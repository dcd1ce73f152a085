"""Episodes: opened, carried on and resolved. Each step compares and sets, so that two who evaluate at once, or one that
is killed and starts again, make one episode and tell of it once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from dlq.text import one_line, visible
from jobops.alerts.claiming import claimed, told_so_far
from jobops.alerts.judging import Judged, Look, Standing
from jobops.alerts.models import Alert, Pending
from jobops.alerts.signals import SIGNALS
from jobops.alerts.telling import Telling

MOST_OPENED = 500
"""Episodes that one round opens; the next ones follow with the next round."""
REWRITE_AFTER = timedelta(seconds=60)
MOST_REWRITTEN = 200
"""A number alone is not worth a write in every round, and a round writes no more rows than that: first those of which
more has changed, then those that were written longest ago."""
_SHOWN = ("severity", "owner", "title", "detail", "path", "due_at", "scope", "threshold")
BATCH = 200


@dataclass(slots=True)
class Round:
    """What there was when it began, and what is to be done."""

    look: Look
    now: datetime
    open: dict[str, Alert] = field(default_factory=dict)
    pending: dict[str, Pending] = field(default_factory=dict)

    def read(self) -> None:
        """Two queries."""
        self.open = {each.key: each for each in Alert.objects.filter(resolved_at__isnull=True).order_by("pk")}
        self.pending = {each.key: each for each in Pending.objects.all()}
        self._begin_anew()

    def _begin_anew(self) -> None:
        """What was written by a clock that was ahead begins now: else nothing would fire until it has come round."""
        ahead = [each for each in self.pending.values() if each.since > self.now]
        for each in ahead:
            each.since = self.now
        if ahead:
            Pending.objects.filter(pk__in=[each.key for each in ahead]).update(since=self.now)

    def begins(self) -> list[Judged]:
        """What is over its threshold for long enough, and has no episode yet."""
        return [each for each in self._new() if self._held(each)][:MOST_OPENED]

    def waits(self) -> list[Judged]:
        """What is over its threshold, but not for long enough, and not known yet."""
        return [each for each in self._new() if not self._held(each) and each.key not in self.pending]

    def no_longer(self) -> list[str]:
        """Keys that waited and have come back under their threshold, or have an episode now."""
        over = {each.key for each in self.look.over}
        return [
            key
            for key in self.pending
            if key in self.open or (key not in over and self.look.tells_of(key.partition(":")[0]))
        ]

    def calm(self) -> list[Alert]:
        """Episodes whose value is beyond the one at which they clear, or of which nothing is left to read."""
        found = []
        for key, alert in self.open.items():
            each = self.look.judged.get(key)
            is_calm = each.standing is Standing.CALM if each is not None else self.look.tells_of(alert.signal)
            if is_calm:
                found.append(alert)
        return found

    def goes_on(self) -> list[tuple[Alert, Judged]]:
        """Episodes that are read and not calm."""
        return [
            (self.open[key], each)
            for key, each in self.look.judged.items()
            if key in self.open and each.standing is not Standing.CALM
        ]

    def _new(self) -> Iterable[Judged]:
        return sorted(
            (each for each in self.look.over if each.key not in self.open and each.reading.opens),
            key=lambda each: each.key,  # everybody in one order: two evaluators cannot lock each other out
        )

    def _held(self, each: Judged) -> bool:
        if not each.limit.for_s:
            return True
        known = self.pending.get(each.key)
        return known is not None and (self.now - known.since).total_seconds() >= each.limit.for_s


def carry_on(look: Look, now: datetime) -> int:
    """Take what was seen into the episodes, and have people told; answers how many episodes changed."""
    with transaction.atomic():
        this = Round(look, now)
        this.read()
        opened = _open(this.begins(), now)
        Pending.objects.bulk_create(
            [Pending(key=each.key, since=now, seen_at=now) for each in this.waits()], ignore_conflicts=True
        )
        Pending.objects.filter(pk__in=[*this.no_longer(), *(alert.key for alert in opened)]).delete()
        goes_on = this.goes_on()
        _refresh(goes_on, now)
        resolved = _resolve(this, now)
        standing = [alert for alert in (*this.open.values(), *opened) if alert.resolved_at is None]
        known = {each.key: each.reading.known_by for each in look.judged.values()}
        telling = Telling.begin(now)
        changed = telling.acknowledgements(standing, known, read=look.tells_of)
        telling.resolved(resolved, worse={alert.key for alert in standing})
        changed += telling.standing(standing)
    return len(opened) + len(resolved) + changed


def _open(rows: Sequence[Judged], now: datetime) -> list[Alert]:
    """The episodes that we have opened: not those that somebody else has opened meanwhile."""
    alerts = [Alert(key=each.key, signal=each.signal.name, value=each.reading.value, since=now) for each in rows]
    for alert, each in zip(alerts, rows, strict=True):
        alert.seen_at = now
        _set_shown(alert, each)
    try:
        with transaction.atomic():
            return Alert.objects.bulk_create(alerts, batch_size=BATCH)
    except IntegrityError:
        return [alert for alert in alerts if _saved(alert)]


def _saved(alert: Alert) -> bool:
    alert.pk = None  # a bulk that was rolled back may have left one
    try:
        with transaction.atomic():
            alert.save(force_insert=True)
    except IntegrityError:
        return False
    return True


def _refresh(pairs: Sequence[tuple[Alert, Judged]], now: datetime) -> None:
    """What is shown of an episode follows what is read, and it is not about to be over."""
    again = [alert.pk for alert, _ in pairs if alert.calm_since is not None]
    Alert.objects.filter(pk__in=again, resolved_at__isnull=True).update(calm_since=None)
    stale, moved = [], dict[str, list[Alert]]()
    for alert, each in pairs:
        owner = alert.owner
        before = [getattr(alert, name) for name in _SHOWN]
        _set_shown(alert, each)
        if alert.owner != owner:
            moved.setdefault(alert.owner, []).append(alert)
        is_new = before != [getattr(alert, name) for name in _SHOWN]
        if is_new or now - alert.seen_at >= REWRITE_AFTER:
            stale.append((not is_new, alert.seen_at, alert.pk, alert))
            alert.value = each.reading.value
    _hand_on(moved)
    rows = [alert for *_, alert in sorted(stale, key=lambda row: row[:3])[:MOST_REWRITTEN]]
    for alert in rows:
        alert.seen_at = now
    Alert.objects.bulk_update(rows, [*_SHOWN, "value", "seen_at"], batch_size=BATCH)


def _hand_on(moved: Mapping[str, list[Alert]]) -> None:
    """Its owner is another team now, which has not heard of it: what it told the other one counts no more."""
    for owner, alerts in moved.items():
        anew: dict[str, Any] = {"told_at": None, "remind_at": None, "escalated_at": None}
        for alert in claimed(alerts, ~Q(owner=owner) & Q(resolved_at__isnull=True), owner=owner, **anew):
            alert.told_at = alert.remind_at = alert.escalated_at = None


def _resolve(this: Round, now: datetime) -> list[Alert]:
    """End those that have been calm for long enough; mark the others as calm. Answers those that we ended."""
    over, calmed = [], []
    for alert in this.calm():
        signal, each = SIGNALS.get(alert.signal), this.look.judged.get(alert.key)
        calm_s = each.limit.calm_s if each is not None else signal.calm_s if signal is not None else 0
        if alert.calm_since is None or alert.calm_since > now:  # the clock was set back
            calmed.append(alert.pk)
            alert.calm_since = now
        if (now - alert.calm_since).total_seconds() >= calm_s:
            over.append(alert)
    fresh = Q(calm_since__isnull=True) | Q(calm_since__gt=now)
    Alert.objects.filter(fresh, pk__in=calmed, resolved_at__isnull=True).update(calm_since=now)
    ended = claimed(over, Q(resolved_at__isnull=True), state=Alert.State.RESOLVED, resolved_at=now, seen_at=now)
    for alert in over:  # also those that somebody else has ended, who tells of it
        alert.state, alert.resolved_at = Alert.State.RESOLVED, now
    told_so_far(ended)
    return ended


def _set_shown(alert: Alert, each: Judged) -> None:
    """Whatever bytes it was read from, no row may be one that the database refuses: the others would not be told of."""
    reading, limit = each.reading, each.limit
    parts = {name: value for name, value in reading.scope.items() if value not in ("", None)}
    alert.scope = {name: visible(value) if isinstance(value, str) else value for name, value in parts.items()}
    alert.severity = limit.severity or reading.severity or each.signal.severity
    alert.owner = one_line(limit.owner or reading.owner or settings.JOBOPS_DEFAULT_OWNER, 100)
    alert.title, alert.detail = one_line(reading.title, 300), one_line(reading.detail, 1000)
    alert.path, alert.due_at = one_line(reading.path, 300), reading.due_at
    alert.threshold = limit.threshold or 0.0
