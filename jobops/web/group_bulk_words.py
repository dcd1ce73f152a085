"""What was done to all letters of a cause at once, in words. Pure."""

from __future__ import annotations

from dlq.bulk_progress import Progress
from dlq.models import BulkAction
from jobops.web.formats import number

Kind, State = BulkAction.Kind, BulkAction.State

ICONS = {Kind.REPLAY: "refresh", Kind.DISCARD: "trash", Kind.UNDO: "rotate-clockwise"}


def did_words(bulk: BulkAction, at: Progress) -> str:
    """What somebody did: ``replayed 1,799``, ``discarded 750``, ``undid the discard of 750``."""
    if bulk.kind == Kind.REPLAY:
        sent = at.done if bulk.state == State.CANCELLED else at.matched - at.skipped
        return f"replayed {number(sent)}"
    return f"{'discarded' if bulk.kind == Kind.DISCARD else 'undid the discard of'} {number(at.done)}"


def became_words(bulk: BulkAction, at: Progress) -> str:
    """What became of them, to follow that: ``: 1,794 succeeded, 5 died again``; empty where nothing is to be added."""
    parts = [
        f"{number(count)} {word}"
        for count, word in (
            (at.succeeded, "succeeded"),
            (at.died, "died again"),
            (at.came_back, "came back"),
            (at.running, "running"),
            (at.waiting if bulk.state != State.CANCELLED else 0, "waiting"),
        )
        if count
    ]
    if bulk.state == State.CANCELLED and at.waiting:
        parts.append(f"{number(at.waiting)} not begun, as it was cancelled")
    return f": {', '.join(parts)}" if parts else ""
