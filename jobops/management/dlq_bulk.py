"""How ``manage.py dlq`` replays, discards and undoes: as a bulk action, which this process works off.

Killed, it leaves a bulk action that runs, and the scheduler goes on with it. Ctrl-C stops it where it is.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet

from dlq.bulk import bulk_cancel, bulk_confirm, bulk_draft, bulk_undo
from dlq.bulk_preview import preview
from dlq.bulk_run import run_batch
from dlq.errors import InvalidAction, LetterError, WrongBulkState
from dlq.models import BulkAction, DeadLetter
from dlq.replay_pace import holds_back
from dlq.replay_plan import PlanOptions, plan_of
from jobops.management.base import Refused, Stopped, Usage, command_actor

PAST = {"replay": "replayed", "discard": "discarded", "undo": "opened again"}
OPTIONS = {"reason": "--reason"}
"""Where a field was typed."""

LOOK_AGAIN_S = 0.1

GOES_ON = {
    "start": "begins by itself when its time has come",
    "canary": "goes on by itself when its canary has succeeded",
    "in_flight": "goes on by itself as its jobs end",
    "rate": "goes on by itself, at its speed",
    "order": "goes on by itself: the others wait for one with their key",
}
"""What the scheduler does with one that must wait, by what it waits for."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was done, or would be: ``matched`` letters were meant."""

    kind: str
    matched: int = 0
    done: int = 0
    skipped: int = 0
    skipped_for: dict[str, int] = field(default_factory=dict)
    dry_run: bool = False
    would_do: int = 0
    unchecked: int = 0
    uncertain: int = 0
    bulk: int | None = None
    state: str = ""
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """The keys that scripts rely on, and some more."""
        shown: dict[str, Any] = {"matched": self.matched, "done": self.done, "skipped": self.skipped}
        shown |= {"skipped_for": self.skipped_for, "dry_run": self.dry_run, "bulk": self.bulk}
        shown |= {"state": self.state} if self.state else {}
        return shown | (
            {"would_do": self.would_do, "unchecked": self.unchecked, "uncertain": self.uncertain}
            if self.dry_run
            else {}
        )

    def as_text(self) -> str:
        """A few lines for people."""
        if not self.matched:
            return "no dead letter matches"
        past = PAST[self.kind]
        head = f"{self.would_do:,} would be {past}" if self.dry_run else f"{self.done:,} {past}"
        if self.skipped:
            reasons = "; ".join(f"{why} ({count:,})" for why, count in self.skipped_for.items())
            head = f"{head}, {self.skipped:,} skipped: {reasons}"
        if self.unchecked:
            head = f"{head}\nthe arguments of {self.unchecked:,} are looked at only when their turn comes"
        if self.uncertain:
            head = (
                f"{head}\n{self.uncertain:,} may have taken effect already: look at them first, a replay does it again"
            )
        if self.why:
            head = f"{head}\n{self.why}"
        if self.kind == "discard" and self.done:
            head = f"{head}\n`manage.py dlq undo --bulk {self.bulk}` opens them again"
        return head


def perform(
    kind: str,
    letters: QuerySet[DeadLetter],
    *,
    chosen: str,
    reason: str = "",
    from_start: bool = False,
    dry_run: bool = False,
    plan: PlanOptions | None = None,
    wait: bool = False,
) -> Report:
    """Do it to these letters, or only tell what would be done. What would change nothing becomes no bulk action.

    ``from_start``: what is replayed begins anew, and not at its checkpoint. ``plan``: how a replay runs. ``wait``: to
    its end, also where it must wait itself, for its canary or its rate; the scheduler goes on with it otherwise.
    Raises ``Usage`` and ``Refused``.
    """
    if not letters.exists():
        return Report(kind, dry_run=dry_run)
    try:
        bulk = bulk_draft(kind=kind, letters=letters, by=command_actor(), chosen=chosen, reason=reason, plan=plan)
        seen = preview(bulk)
        if seen.will_do and not dry_run:
            return finish(bulk_confirm(bulk_id=bulk.pk, by=command_actor(), from_start=from_start), wait=wait)
    except InvalidAction as error:
        raise Usage(f"{OPTIONS.get(error.field, f'dlq {kind}')}: {error.problem}") from error
    bulk.delete()
    skipped = dict(seen.skipped)
    skips = sum(skipped.values())
    return Report(
        kind,
        seen.chosen,
        0,
        skips,
        skipped,
        dry_run,
        would_do=seen.will_do,
        unchecked=seen.unchecked,
        uncertain=seen.uncertain,
    )


def finish(bulk: BulkAction, *, wait: bool = True) -> Report:
    """Work a confirmed action off. Raises ``Stopped`` when it was stopped before its end.

    ``wait``: for as long as it takes; otherwise until it must wait itself.
    """
    try:
        while bulk.state == BulkAction.State.RUNNING:
            if not run_batch(bulk.pk):
                bulk.refresh_from_db()
                waits_for = holds_back(bulk, plan_of(bulk))
                if waits_for and not wait:
                    return _report(bulk, f"replay {bulk.pk} {GOES_ON[waits_for]}")
                if bulk.state == BulkAction.State.RUNNING:
                    time.sleep(LOOK_AGAIN_S)  # the scheduler has the batch, or somebody stops it
    except KeyboardInterrupt:
        _stop(bulk)
        raise Stopped(f"{_so_far(bulk)}; the others are as they were") from None
    if bulk.state == BulkAction.State.CANCELLED:
        raise Stopped(f"bulk action {bulk.pk} was cancelled by somebody else: {_so_far(bulk)}")
    if bulk.state == BulkAction.State.PAUSED:
        plan = plan_of(bulk)
        told = f"{plan.paused_by}: {plan.paused_why}" if plan is not None else ""
        raise Stopped(
            f"replay {bulk.pk} was stopped by {told}; {_so_far(bulk)}; see `manage.py replays show {bulk.pk}`"
        )
    return _report(bulk)


def _report(bulk: BulkAction, why: str = "") -> Report:
    return Report(
        bulk.kind,
        bulk.matched,
        bulk.done,
        bulk.skipped,
        dict(bulk.skipped_for),
        bulk=bulk.pk,
        state=bulk.state,
        why=why,
    )


def undo_discard(bulk_id: int) -> Report:
    """Open again what a discard of many closed. Raises ``Refused``."""
    try:
        return finish(bulk_undo(bulk_id=bulk_id, by=command_actor()))
    except BulkAction.DoesNotExist:
        raise Refused(f"--bulk: there is no bulk action {bulk_id}") from None
    except InvalidAction as error:
        raise Refused(f"--bulk: bulk action {bulk_id}: {error.problem}") from error
    except LetterError as error:
        raise Refused(f"--bulk: {error}") from error


def _stop(bulk: BulkAction) -> None:
    with suppress(WrongBulkState):  # it was finished at this very moment
        bulk_cancel(bulk_id=bulk.pk, by=command_actor())
    bulk.refresh_from_db()


def _so_far(bulk: BulkAction) -> str:
    return f"{bulk.done:,} of {bulk.matched:,} {PAST[bulk.kind]}, {bulk.skipped:,} skipped"
