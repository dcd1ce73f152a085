"""The words of the list of bulk actions. Pure."""

from __future__ import annotations

from dlq.bulk import TICKED
from dlq.models import BulkAction
from jobops.web.bulk_words import chosen_words
from jobops.web.words import Look

State, Kind = BulkAction.State, BulkAction.Kind

LOOKS = {
    State.DRAFT: Look("Not confirmed", "ring", "calm"),
    State.RUNNING: Look("Running", "refresh", "accent"),
    State.FINISHED: Look("Ended", "circle-check", "calm"),
    State.CANCELLED: Look("Stopped", "player-stop", "hold"),
}


def bulk_look(bulk: BulkAction, *, goes_on: bool) -> Look:
    """How its state looks; ``goes_on``: jobs that it sent have not ended."""
    return LOOKS[State.RUNNING if goes_on and bulk.state == State.FINISHED else State(bulk.state)]


def how_chosen(bulk: BulkAction, *, staff: bool) -> str:
    """Which letters it is about: ``ticked one by one``, ``Owner billing``, ``what discard 5 closed``."""
    if bulk.undoes_id is not None:
        return f"what discard {bulk.undoes_id} closed" if staff else "what was given up before"
    if bulk.chosen == TICKED:
        return "ticked one by one"
    return chosen_words(bulk.chosen, staff=staff)
