"""What the page of a replay shows beside its numbers: its plan, its speed, what live traffic feels, what came since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Q
from redis.exceptions import RedisError

from dlq.bulk_progress import Progress
from dlq.foreign.unwatched import unwatched
from dlq.models import BulkAction, DeadLetterGroup, ReplayPlan, ReplayRun
from jobops.metrics.waits import Wait, read_waits
from jobops.runtime import get_engine
from jobops.web.selectors.reach import reading_redis
from jobops.web.selectors.replay_again import DIED, letters_of, since_of
from jobops.web.selectors.snapshot import urgent_lane
from tenants.access import AnyUser, sees_all

STEP_S, STEPS = 5, 24
"""The charts: so many steps of so many seconds."""
MOST_CAUSES = 3
MOST_READ = 20
"""Of one kind of error there may be several reasons."""


@dataclass(frozen=True, slots=True)
class ReplayFacts:
    """Of a replay that was confirmed. ``starts``: jobs sent in each step, oldest first, the running one left out.

    ``waits``: samples of the first lane's longest wait, oldest first; none while Redis is away.
    ``died_of``: (reason, error class) → how many died again of it, most first. ``group``: the one cause it is about.
    ``new_since``: letters of what was chosen that died after its members were fixed. ``open_again``: of those that
    died again or came back, how many are open now. ``unwatched``: source → how many run there unknown to the scheduler.
    """

    plan: ReplayPlan | None = None
    group: DeadLetterGroup | None = None
    starts: Sequence[int] = ()
    waits: Sequence[Wait] = ()
    died_of: Sequence[tuple[str, str, int]] = ()
    new_since: int = 0
    open_again: int = 0
    unwatched: Mapping[str, int] = field(default_factory=dict)


def plan_with_cause(bulk: BulkAction) -> ReplayPlan | None:
    """How this replay runs, with its cause; None of what is none, and of those from before there were plans."""
    if bulk.kind != BulkAction.Kind.REPLAY:
        return None
    plan = ReplayPlan.objects.filter(bulk=bulk).select_related("group").first()
    if plan is not None:
        plan.bulk = bulk
    return plan


def replay_facts(user: AnyUser, bulk: BulkAction, at: Progress, now: datetime) -> ReplayFacts:
    """All of it, in a constant number of queries; to a tenant's people nothing of the machine."""
    if bulk.kind != BulkAction.Kind.REPLAY:
        return ReplayFacts()
    staff, plan = sees_all(user), plan_with_cause(bulk)
    over = bulk.state in (BulkAction.State.FINISHED, BulkAction.State.CANCELLED)
    return ReplayFacts(
        plan=plan,
        group=plan.group if plan and staff else None,
        starts=starts_lately(bulk, now) if staff else (),
        waits=_waits() if staff else (),
        died_of=_died_of(bulk) if at.died and staff else (),
        open_again=letters_of(user, bulk, DIED).count() if at.died or at.came_back else 0,
        unwatched=unwatched(ReplayRun.objects.filter(bulk=bulk)) if at.running and staff else {},
        new_since=0 if over and bulk.ended_at and bulk.ended_at < now - LONG_AGO else since_of(user, bulk).count(),
    )


LONG_AGO = timedelta(days=1)
"""Who looks at an old replay asks what became of it, not what died since."""


def lanes() -> tuple[str, ...]:
    """All lanes, the most urgent first."""
    return tuple(settings.JOBOPS_LANES)


def starts_lately(bulk: BulkAction, now: datetime) -> list[int]:
    """How many jobs it sent in each step, up to the last whole one: one query."""
    end = datetime.fromtimestamp(now.timestamp() // STEP_S * STEP_S, tz=now.tzinfo)
    edges = [end - timedelta(seconds=STEP_S * back) for back in range(STEPS, -1, -1)]
    steps = {
        f"step_{n}": Count("pk", filter=Q(started_at__gte=edges[n], started_at__lt=edges[n + 1])) for n in range(STEPS)
    }
    runs = ReplayRun.objects.filter(bulk=bulk, started_at__gte=edges[0], started_at__lt=end)
    counted = runs.order_by().aggregate(**steps)
    return [counted[f"step_{n}"] for n in range(STEPS)]


def _waits() -> list[Wait]:
    try:
        with reading_redis():
            return read_waits(get_engine(), urgent_lane())
    except RedisError:
        return []


def _died_of(bulk: BulkAction) -> list[tuple[str, str, int]]:
    died = ReplayRun.objects.filter(bulk=bulk, state=ReplayRun.State.DIED).order_by()
    rows = died.values_list("letter__reason", "letter__error_class").annotate(n=Count("pk")).order_by("-n")
    return list(rows[:MOST_READ])
