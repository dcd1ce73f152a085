"""How far a bulk action is, and what became of what it replayed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, QuerySet

from dlq.models import BulkAction, ReplayRun

Run = ReplayRun.State

DRAINING = (Run.SUCCEEDED, Run.DISCARDED)
CAME_BACK = (Run.CANCELLED, Run.REFUSED, Run.COALESCED, Run.LOST)


@dataclass(frozen=True, slots=True)
class Progress:
    """``matched`` = ``done`` + ``skipped`` + ``waiting``. Of a replay's ``done``, now: ``running``, ``succeeded``
    (drained by its end), ``died`` again, or ``came_back`` (cancelled, refused, coalesced or lost); ``last_ended_at``:
    when the newest end of one of them was."""

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
    last_ended_at: datetime | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing of it will change any more by itself."""
        return self.state in (BulkAction.State.FINISHED, BulkAction.State.CANCELLED) and not self.running


def progress(bulk: BulkAction) -> Progress:
    """How far it is, as of the row in hand and of its runs now: one query."""
    rows = list(_runs(bulk).values("state").annotate(n=Count("pk"), last=Max("ended_at")))
    counts = {row["state"]: row["n"] for row in rows}
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
        last_ended_at=max((row["last"] for row in rows if row["last"]), default=None),
    )


def died_again(bulk: BulkAction) -> QuerySet[ReplayRun]:
    """The runs of it that died, with their letters, the first one first."""
    runs = _runs(bulk).filter(state=Run.DIED).select_related("letter").order_by("pk")
    return runs.defer("letter__traceback", "letter__history", "letter__payload_raw")


def _runs(bulk: BulkAction) -> QuerySet[ReplayRun]:
    return ReplayRun.objects.filter(bulk=bulk).order_by()
