"""The words of the list of bulk actions. Pure."""

from __future__ import annotations

from datetime import datetime

from dlq.bulk_members import TICKED
from dlq.models import BulkAction, ReplayPlan
from jobops.web.bulk_words import chosen_words, tongue
from jobops.web.replay_words import BY_BREAKER, BY_CANARY
from jobops.web.words import Look

State, Kind = BulkAction.State, BulkAction.Kind

LOOKS = {
    State.DRAFT: Look("Not confirmed", "ring", "calm"),
    State.RUNNING: Look("Running", "refresh", "accent"),
    State.PAUSED: Look("Paused", "pausef", "hold"),
    State.FINISHED: Look("Ended", "circle-check", "calm"),
    State.CANCELLED: Look("Cancelled", "player-stop", "hold"),
}


BY_ITSELF = {
    BY_CANARY: Look("Stopped by its canary", "octagon", "danger"),
    BY_BREAKER: Look("Stopped by its breaker", "octagon", "danger"),
}
SCHEDULED = Look("To come", "clock", "calm")


def bulk_look(bulk: BulkAction, *, goes_on: bool, plan: ReplayPlan | None = None, now: datetime | None = None) -> Look:
    """How its state looks; ``goes_on``: jobs that it sent have not ended; ``plan``: of a replay, if it has one."""
    if plan is not None and bulk.state == State.PAUSED and plan.paused_by in BY_ITSELF:
        return BY_ITSELF[plan.paused_by]
    begins = plan.start_at if plan is not None and bulk.state == State.RUNNING and not bulk.done else None
    if begins is not None and now is not None and begins > now:
        return SCHEDULED
    return LOOKS[State.RUNNING if goes_on and bulk.state == State.FINISHED else State(bulk.state)]


def going_on_words(bulk: BulkAction, plan: ReplayPlan | None, *, staff: bool) -> tuple[str, str]:
    """``Replay 318 was stopped by its canary`` and ``started by ada``; nobody's name for a tenant's people."""
    name = f"{tongue(bulk.kind, staff=staff).name}{f' {bulk.pk}' if staff else ''}"
    started = f"started by {bulk.by}" if staff else ""
    if bulk.state != State.PAUSED:
        return f"{name} is running", started
    by = plan.paused_by if plan is not None else ""
    if by in BY_ITSELF:
        return f"{name} {BY_ITSELF[by].word.replace('S', 'was s', 1) if staff else 'stopped by itself'}", started
    return f"{name} is paused", f"by {by}" if staff and by else ""


def how_chosen(bulk: BulkAction, *, staff: bool) -> str:
    """Which letters it is about: ``ticked one by one``, ``Owner billing``, ``what discard 5 closed``."""
    if bulk.undoes_id is not None:
        return f"what discard {bulk.undoes_id} closed" if staff else "what was given up before"
    if bulk.chosen == TICKED:
        return "ticked one by one"
    return chosen_words(bulk.chosen, staff=staff)
