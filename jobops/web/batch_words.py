"""Batches in words. Pure."""

from __future__ import annotations

from jobops.batches.models import Batch
from jobops.contracts.batch_port import BatchStatus
from jobops.web.formats import number, plural
from jobops.web.segments import Part
from jobops.web.words import Look

State = Batch.State

LOOKS = {
    State.FILLING: Look("Being filled", "hourglass", "hold"),
    State.RUNNING: Look("Running", "player-play", "accent"),
    State.STUCK: Look("Stuck", "alert-triangle", "warn"),
    State.SUCCEEDED: Look("Succeeded", "circle-check", "ok"),
    State.ENDED: Look("Ended", "check", "calm"),
    State.CANCELLED: Look("Cancelled", "ban", "calm"),
    State.LOST: Look("Lost", "octagon", "danger"),
}
OWN_LOOKS = LOOKS | {State.STUCK: Look("Waits for our team", "clock", "hold")}


def look_of(batch: Batch, *, staff: bool) -> Look:
    """How its state looks."""
    return (LOOKS if staff else OWN_LOOKS)[State(batch.state)]


def name_of(batch: Batch) -> str:
    """What it is called."""
    return batch.name or f"Batch {batch.pk[:8]}"


def batch_title(batch: Batch, at: BatchStatus, *, staff: bool) -> str:
    """The page in one sentence."""
    name, of = name_of(batch), f"of {number(at.total)}"
    over = at.total - at.left
    sentences = {
        "filling": f"{name} is being filled",
        "running": f"{name}: {number(over)} {of} ended",
        "stuck": f"{name} waits for {'a person' if staff else 'our team'}",
        "succeeded": f"{name} succeeded",
        "ended": f"{name} ended, and not all of it succeeded",
        "cancelled": f"{name} was cancelled",
        "lost": f"Nobody knows what became of {name}",
    }
    return sentences[at.state]


def batch_lede(batch: Batch, at: BatchStatus, parked: int, *, staff: bool) -> str:
    """What there is to know, and what happens next."""
    then = "the job after it" if batch.then_job else ""
    match at.state:
        case "filling":
            return "Jobs are still being added to it; it cannot end before."
        case "running":
            return f"When all have ended well, {then} starts." if then else "Nothing runs after it."
        case "stuck":
            return _stuck(at, parked, then, staff=staff)
        case "succeeded":
            return f"{then[:1].upper()}{then[1:]} was started." if then else "Nothing was to run after it."
        case "cancelled":
            left = (
                f" {plural(at.left, 'job')} of it still {'runs' if at.left == 1 else 'run'} to the end."
                if at.left
                else ""
            )
            return f"What had not started was cancelled where possible.{left}{_not_started(then)}"
        case "lost":
            why = "Redis was flushed or restored, or records were deleted" if staff else "Records of it were lost"
            return f"{why}: of {plural(at.lost, 'job')} nothing is known any more.{_not_started(then)}"
    return f"{_otherwise(at, staff=staff)}.{_not_started(then)}"


def nothing_to_cancel(at: BatchStatus) -> str:
    """Why whoever may cancel it has no use of that; empty where something is left to cancel."""
    if at.is_over or at.state == "filling" or at.left:
        return ""
    if not at.dead:
        return "Nothing is left to cancel: all of it has ended."
    letters = "its dead letter is" if at.dead == 1 else "its dead letters are"
    return f"Nothing is left to cancel: {letters} to be drained."


def _stuck(at: BatchStatus, parked: int, then: str, *, staff: bool) -> str:
    if not staff:
        return (
            f"{plural(at.dead, 'job')} did not work; our team has {'it' if at.dead == 1 else 'them'}."
            if at.dead
            else ""
        )
    goes_on = f"{then} starts" if then else "it has succeeded"
    parts = []
    if at.dead:
        it, letter = ("It is", "its letter") if at.dead == 1 else ("They are", "their letters")
        parts.append(
            f"{plural(at.dead, 'member is', 'members are')} dead. Replay {letter}: when all succeed, {goes_on}. "
            f"{it.replace(' is', '').replace(' are', '')} may be discarded: then it ends without {then or 'success'}."
        )
    if parked:
        parts.append(
            f"{plural(parked, 'member is', 'members are')} parked on the way to Redis: see `jobs list --state outbox`, "
            "and `jobs unpark` or `jobs cancel`."
        )
    return " ".join(parts)


def _otherwise(at: BatchStatus, *, staff: bool) -> str:
    dead = "died, and their letters were discarded" if staff else "did not work and were given up"
    told = [f"{number(at.cancelled)} {'was' if at.cancelled == 1 else 'were'} cancelled"] if at.cancelled else []
    told += [f"{number(at.dead)} {dead}"] if at.dead else []
    return ", ".join(told) or "Not all of it succeeded"


def _not_started(then: str) -> str:
    return f" {then[:1].upper()}{then[1:]} does not run." if then else ""


def parts(at: BatchStatus, parked: int, *, staff: bool) -> list[Part]:
    """The bar: how many members stand where."""
    joined = f"and {number(at.coalesced)} joined another job" if at.coalesced else ""
    otherwise = [
        (at.discarded, "ended by contract" if staff else "not needed any more"),
        (at.cancelled, "cancelled"),
        (at.lost, "lost"),
    ]
    note = ", ".join(f"{number(count)} {word}" for count, word in otherwise if count)
    return [
        Part("ok", "Succeeded", at.succeeded + at.coalesced, joined),
        Part("wait", "To come", at.left, f"{number(parked)} parked" if parked and staff else ""),
        Part("dead", "Dead" if staff else "Did not work", at.dead),
        Part("skip", "Ended otherwise", sum(count for count, _ in otherwise), note),
    ]
