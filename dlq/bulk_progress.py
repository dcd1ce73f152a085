"""How far a bulk action is, and what became of what it replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from django.db.models import Count, Exists, Max, OuterRef, QuerySet

from dlq.access import COMMAND, letters_visible_to
from dlq.bulk_members import TICKED
from dlq.filters import parse
from dlq.models import BulkAction, BulkMember, DeadLetter, ReplayRun, State
from dlq.replay_guard import BreakerStanding, CanaryStanding, breaker_standing, canary_standing
from dlq.replay_plan import plan_of

Run = ReplayRun.State

DRAINING = (Run.SUCCEEDED, Run.DISCARDED)
CAME_BACK = (Run.CANCELLED, Run.REFUSED, Run.COALESCED, Run.LOST)


@dataclass(frozen=True, slots=True)
class Progress:
    """``matched`` = ``done`` + ``skipped`` + ``waiting``. Of a replay's ``done``, now: ``running``, ``succeeded``
    (drained by its end), ``died`` again, or ``came_back`` (cancelled, refused, coalesced or lost), or ``purged`` with
    its letter; ``last_ended_at``: when the newest end of one of them was. ``canary`` and ``breaker``: of a replay that
    has them, how they stand."""

    state: str
    matched: int
    done: int
    skipped: int
    waiting: int
    skipped_for: Mapping[str, int]
    running: int = 0
    succeeded: int = 0
    died: int = 0
    came_back: int = 0
    purged: int = 0
    last_ended_at: datetime | None = None
    canary: CanaryStanding | None = None
    breaker: BreakerStanding | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing of it will change any more by itself."""
        return self.state in (BulkAction.State.FINISHED, BulkAction.State.CANCELLED) and not self.running


def progress(bulk: BulkAction) -> Progress:
    """How far it is, as of the row in hand and of its runs now: a constant number of queries."""
    plan = plan_of(bulk)
    found = progress_of([bulk])[bulk.pk]
    return replace(
        found,
        canary=canary_standing(bulk) if plan is not None and plan.canary else None,
        breaker=breaker_standing(bulk, plan) if plan is not None and plan.breaker_percent < 100 else None,
    )


def progress_of(bulks: Sequence[BulkAction]) -> dict[int, Progress]:
    """How far each of these is, by its id, without canary and breaker: one query."""
    runs = ReplayRun.objects.filter(bulk__in=[bulk.pk for bulk in bulks]).order_by()
    rows = runs.values("bulk_id", "state").annotate(n=Count("pk"), last=Max("ended_at"))
    by_bulk: dict[int, list[dict[str, Any]]] = {bulk.pk: [] for bulk in bulks}
    for row in rows:
        by_bulk[row["bulk_id"]].append(dict(row))
    return {bulk.pk: _progress(bulk, by_bulk[bulk.pk]) for bulk in bulks}


def _progress(bulk: BulkAction, rows: Sequence[Mapping[str, Any]]) -> Progress:
    counts = {row["state"]: row["n"] for row in rows}
    # A run goes with its letter, and is counted in the transaction that makes it.
    purged = max(0, bulk.done - sum(counts.values())) if bulk.kind == BulkAction.Kind.REPLAY else 0
    return Progress(
        state=bulk.state,
        matched=bulk.matched,
        done=bulk.done,
        skipped=bulk.skipped,
        waiting=bulk.matched - bulk.done - bulk.skipped,
        skipped_for=bulk.skipped_for,
        running=counts.get(Run.RUNNING, 0),
        succeeded=sum(counts.get(state, 0) for state in DRAINING),
        died=counts.get(Run.DIED, 0),
        came_back=sum(counts.get(state, 0) for state in CAME_BACK),
        purged=purged,
        last_ended_at=max((row["last"] for row in rows if row["last"]), default=None),
    )


def new_since(bulk: BulkAction) -> int:
    """How many open letters of what a replay was about died since its members were fixed, and are not of it: as its
    filter says, or of its cause if its letters were ticked. 0 where that cannot be told."""
    letters = letters_since(bulk)
    return letters.count() if letters is not None else 0


def letters_since(bulk: BulkAction) -> QuerySet[DeadLetter] | None:
    """Those letters, in no order; None where that cannot be told."""
    plan = plan_of(bulk)
    if plan is None or not plan.newest_letter:
        return None
    # Those that whoever confirmed it sees: of a tenant's own people, their tenant's.
    if bulk.by_user is None and not bulk.by.startswith(COMMAND):
        return None
    seen = letters_visible_to(bulk.by_user) if bulk.by_user is not None else DeadLetter.objects.all()
    newer = seen.filter(pk__gt=plan.newest_letter, state=State.OPEN)
    # One that died while they were fixed may be among them.
    newer = newer.filter(~Exists(BulkMember.objects.filter(bulk=bulk, letter=OuterRef("pk"))))
    if bulk.chosen != TICKED:
        asked, faults = parse(dict(parse_qsl(bulk.chosen)))
        return None if faults else replace(asked, status="open", sort="due", me=bulk.by_user_id).apply(newer)
    return newer.filter(group=plan.group_id) if plan.group_id is not None else None


def died_again(bulk: BulkAction) -> QuerySet[ReplayRun]:
    """The runs of it that died, with their letters, the first one first."""
    runs = _runs(bulk).filter(state=Run.DIED).select_related("letter").order_by("pk")
    return runs.defer("letter__traceback", "letter__history", "letter__payload_raw")


def _runs(bulk: BulkAction) -> QuerySet[ReplayRun]:
    return ReplayRun.objects.filter(bulk=bulk).order_by()
