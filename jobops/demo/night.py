"""How far the night on call is: what `/demo/` leads through, read from what really happened since it went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from dlq.models import BulkAction, DeadLetter, DeadLetterGroup
from jobops.alerts.models import Alert, Delivery
from jobops.audit.models import AuditEntry
from jobops.demo.incident import CAUSES

JOBS = tuple(cause.job_type.name for cause in CAUSES)
PAYMENT, INVOICE = JOBS[:2]
_STEPS = (
    "group.acknowledge",
    "group.take",
    "group.assign",
    "bulk.pause",
    "demo.mend",
    "letter.discard",
    "letter.undo",
)


@dataclass(frozen=True, slots=True)
class Night:
    """``since``: when it was let go wrong, by ``by``, with ``deaths``; None while nobody did. ``groups``: its causes,
    the largest first. ``alert``: the newest one of the largest cause; ``stopped`` and ``replay``: the newest replay
    of many that its canary stopped, and the newest one. The rest: whether somebody did it since."""

    since: datetime | None = None
    by: str = ""
    deaths: int = 0
    died: int = 0
    groups: Sequence[DeadLetterGroup] = ()
    alert: Alert | None = None
    replay: BulkAction | None = None
    told: bool = False
    acknowledged: bool = False
    taken: bool = False
    stopped: bool = False
    mended: bool = False
    finished: bool = False
    discarded: bool = False
    undone: bool = False

    @property
    def largest(self) -> DeadLetterGroup | None:
        """The cause with the most letters: the payments, which can be mended."""
        return self.groups[0] if self.groups else None

    @property
    def poison(self) -> DeadLetterGroup | None:
        """The cause that no replay helps."""
        return next((group for group in self.groups if group.job_type == INVOICE), None)


def read_night() -> Night:
    """A constant number of queries."""
    begun = AuditEntry.objects.filter(action="demo.incident").first()
    if begun is None:
        return Night()
    groups = list(
        DeadLetterGroup.objects.filter(job_type__in=JOBS, last_seen_at__gte=begun.at).order_by("-deaths", "pk")[:3]
    )
    largest = groups[0] if groups else None
    keys = [f"new_cause:group={group.pk}" for group in groups]
    alert = Alert.objects.filter(key=keys[0]).order_by("-pk").first() if largest else None
    since = AuditEntry.objects.filter(action__in=_STEPS, pk__gt=begun.pk)
    done = set(since.order_by().values_list("action", "actor_kind").distinct())
    acts = {action for action, _ in done}
    replays = BulkAction.objects.filter(kind=BulkAction.Kind.REPLAY, started_at__gte=begun.at)
    discards = BulkAction.objects.filter(kind=BulkAction.Kind.DISCARD, ended_at__gte=begun.at)
    # Of a cause that nobody drained since an earlier night people know: they are told once.
    is_on = Q(alert__resolved_at__isnull=True) | Q(alert__resolved_at__gte=begun.at)
    fired = Delivery.objects.filter(is_on, alert__key__in=keys, event="fired", state=Delivery.State.SENT)
    told = fired.order_by().values_list("alert__key", flat=True).distinct()
    replay = replays.order_by("-pk").first()
    return Night(
        since=begun.at,
        by=begun.actor,
        deaths=int(begun.target_id),
        died=DeadLetter.objects.filter(job_type__in=JOBS, dead_at__gte=begun.at).count(),
        groups=groups,
        alert=alert,
        replay=replay,
        told=len(set(told)) == len(CAUSES),
        acknowledged=alert is not None and (alert.acknowledged_at is not None or "group.acknowledge" in acts),
        taken=bool(acts & {"group.take", "group.assign"}),
        stopped=("bulk.pause", AuditEntry.Kind.SYSTEM) in done,
        mended="demo.mend" in acts,
        finished=replay is not None and replay.state == BulkAction.State.FINISHED,
        discarded="letter.discard" in acts or discards.exists(),
        undone="letter.undo" in acts,
    )
