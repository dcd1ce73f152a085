"""What happened to a bulk action, line by line, the newest first. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dlq.bulk_progress import Progress
from dlq.models import BulkAction, ReplayPlan
from jobops.audit.models import AuditEntry
from jobops.web import bulk_words as words
from jobops.web.formats import number, plain
from jobops.web.replay_words import BY_CANARY, pace

HAPPENED = {
    "bulk.confirm": ("started it", "player-play"),
    "bulk.cancel": ("cancelled the rest", "player-stop"),
    "bulk.pause": ("paused it", "player-pause"),
    "bulk.resume": ("let it go on", "player-play"),
    "bulk.speed": ("changed its speed", "gauge"),
}
STOPPED = {
    "bulk.pause": ("It stopped by itself", "octagon"),
    "bulk.cancel": ("It was cancelled by itself", "player-stop"),
}


@dataclass(frozen=True, slots=True)
class Happening:
    """One line. ``who``: empty for what came by itself; ``quote``: what they gave as their reason."""

    at: datetime
    who: str
    text: str
    icon: str
    quote: str = ""


def happenings(
    bulk: BulkAction,
    at: Progress,
    rows: Sequence[AuditEntry],
    plan: ReplayPlan | None,
    ended_at: datetime | None,
    reader: str,
    *,
    staff: bool,
) -> list[Happening]:
    """All of them; ``ended_at``: when the last job that it sent ended, if all have."""
    lines: list[Happening] = []
    if ended_at is not None:
        lines.append(Happening(ended_at, "", "The last one ended", "circle-check"))
    for row in rows:
        if row.action == "bulk.finish":
            lines.append(Happening(row.at, "", words.finish_text(bulk, at), "check"))
        elif row.action == "bulk.canary":
            lines += _of_canary(row, at, plan, staff=staff)
        elif row.actor_kind == AuditEntry.Kind.SYSTEM:
            lines.append(_by_itself(row, staff=staff))
        else:
            lines.append(_by_somebody(row, bulk, reader, staff=staff))
    return lines


def _by_itself(row: AuditEntry, *, staff: bool) -> Happening:
    text, icon = STOPPED.get(row.action, ("By itself: " + HAPPENED.get(row.action, (row.action, ""))[0], "check"))
    return Happening(row.at, "", f"{text}: {row.reason}" if row.reason and staff else text, icon)


def _by_somebody(row: AuditEntry, bulk: BulkAction, reader: str, *, staff: bool) -> Happening:
    text, icon = HAPPENED.get(row.action, (row.action, "check"))
    if row.action == "bulk.resume" and row.before.get("paused_by") == BY_CANARY:
        text = "let it go on, with a new canary"
    if row.action == "bulk.speed" and staff:
        text = f"{text}: {_speed(row.after)}"
    who = row.actor if staff or row.actor == reader else "Our team"
    # Whoever gave no reason for this has the one of the start in the audit: it was not said once more.
    own = row.action == "bulk.confirm" or (row.action == "bulk.pause" and row.reason != bulk.reason)
    return Happening(row.at, who, text, icon, row.reason if own else "")


def _speed(after: Mapping[str, Any]) -> str:
    rate, most = after.get("rate"), after.get("in_flight")
    said = f"{plain(rate)} per second" if isinstance(rate, int | float) else "as fast as it goes"
    return f"{said}, at most {number(most)} at once" if isinstance(most, int) else said


def _of_canary(row: AuditEntry, at: Progress, plan: ReplayPlan | None, *, staff: bool) -> list[Happening]:
    """That it passed and, above that, what followed."""
    worked, total = row.after.get("succeeded"), row.after.get("canary")
    if not (isinstance(worked, int) and isinstance(total, int)):
        return [Happening(row.at, "", "Canary passed", "circle-check")]
    of = f"{number(worked)} of {number(total)}"
    told = f"Canary passed: {of} succeeded" if staff else f"{of} that were tried first worked"
    passed = Happening(row.at, "", told, "circle-check")
    rest = row.after.get("rest")
    if not isinstance(rest, int):
        rest = at.matched - at.skipped - total
    if rest <= 0 or plan is None:
        return [passed]
    began = "began by itself" if rest == 1 else "began by themselves"
    others = f"The other {'one' if rest == 1 else number(rest)} {began}"
    return [Happening(row.at, "", f"{others}, {pace(plan)}" if staff else others, "player-play"), passed]
