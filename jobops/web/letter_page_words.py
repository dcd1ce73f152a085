"""The sentences of a dead letter's page: for staff in the field's words, for a tenant's people in plain ones. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dlq.clock.standing import letter_standing
from dlq.models import DeadLetter, Reason, ReplayRun, State
from dlq.second_run import is_unknown
from jobops.web.formats import clock, duration, plural
from jobops.web.job_words import plain_name
from jobops.web.words import Look

LOOKS = {
    State.OPEN: Look("Open", "ring", "hold"),
    State.REPLAYING: Look("Replaying", "refresh", "accent"),
    State.RESOLVED: Look("Resolved", "circle-check", "ok"),
    State.DISCARDED: Look("Discarded", "trash", "calm"),
}
OWN_LOOKS = {
    State.OPEN: Look("Did not work", "alert-circle", "hold"),
    State.REPLAYING: Look("Being tried again", "refresh", "accent"),
    State.RESOLVED: Look("Worked when tried again", "circle-check", "ok"),
    State.DISCARDED: Look("Given up", "trash", "calm"),
}
SECOND_RUN_LOOKS = {
    "ok": Look("Safe", "circle-check", "ok"),
    "warn": Look("Take care", "alert-triangle", "warn"),
    "danger": Look("Take care", "alert-triangle", "danger"),
}
# What the end of a replay made of its letter.
ENDS = {
    ReplayRun.State.SUCCEEDED: Look("resolved", "circle-check", "ok"),
    ReplayRun.State.DISCARDED: Look("resolved, as nothing is left to do", "circle-check", "ok"),
    ReplayRun.State.DIED: Look("open again, its deadline as before", "x", ""),
    ReplayRun.State.CANCELLED: Look("open again", "ban", ""),
    ReplayRun.State.REFUSED: Look("open again", "ban", ""),
    ReplayRun.State.COALESCED: Look("open again", "link", ""),
    ReplayRun.State.LOST: Look("open again", "alert-triangle", ""),
}
EDITED_AND_ENDED = Look("open again, as that was said of other arguments", "alert-triangle", "")
"""What the end of a replay made of its letter that its contract ended, and whose arguments were edited."""
OWN_ENDS = {
    ReplayRun.State.SUCCEEDED: "The new try worked",
    ReplayRun.State.DISCARDED: "The new try is over, and nothing is left to do",
    ReplayRun.State.DIED: "The new try did not work either",
}


OWN_BY_CONTRACT = Look("Nothing left to do", "circle-check", "ok")


def letter_look(letter: DeadLetter, *, staff: bool, by_contract: bool = False) -> Look:
    """Its state. ``by_contract``: what drained it is that its contract ended a replay."""
    return OWN_BY_CONTRACT if by_contract and not staff else (LOOKS if staff else OWN_LOOKS)[State(letter.state)]


def letter_title(letter: DeadLetter, *, staff: bool, by_contract: bool = False) -> str:
    """The page in one sentence; ``by_contract`` as above."""
    state = State(letter.state)
    if by_contract:
        name = letter.job_type.rpartition(".")[2] or "A job"
        ended = f"{name} was ended by its contract when it was replayed: nothing was left to do"
        return ended if staff else f"{plain_name(letter.job_type)} is over: nothing was left to do"
    if not staff:
        ends = {State.OPEN: "did not work", State.REPLAYING: "is being tried again", State.DISCARDED: "was given up"}
        return f"{plain_name(letter.job_type)} {ends.get(state, 'worked when it was tried again')}"
    name = letter.job_type.rpartition(".")[2] or "A job"
    if state is State.OPEN:
        return f"{name} {_why(letter)}"
    ends = {State.REPLAYING: "is being replayed", State.DISCARDED: "was discarded"}
    return f"{name} {ends.get(state, 'was replayed and succeeded')}"


def _why(letter: DeadLetter) -> str:
    if is_unknown(letter.error_class):
        return "may have done its work: nobody knows"
    tried = plural(letter.attempts, "attempt")
    return {
        Reason.EXHAUSTED: f"failed in every one of {tried}" if letter.attempts > 1 else "failed in its only attempt",
        Reason.POISON: "will never succeed as it is",
        Reason.WORKER_LOST: f"took its worker with it, the last of {tried}",
        Reason.TIMEOUT: f"ran out of time, the last of {tried}",
        Reason.UNRESOLVABLE: "is a job type that nobody here knows",
    }.get(Reason(letter.reason), "gave up; how is not known")


def attempts_title(letter: DeadLetter, replays: Sequence[int], *, staff: bool) -> str:
    """How often it was started, in all; ``replays``: for each start that is known, of which replay it was."""
    again = sum(number > 0 for number in replays)
    if not again:
        of = f" of {letter.max_attempts:,}" if letter.max_attempts else ""
        return f"{plural(letter.attempts, 'attempt')}{of}"
    tries = plural(len(set(replays) - {0}), "replay" if staff else "new try", "replays" if staff else "new tries")
    return f"{plural(len(replays), 'attempt')}, {again:,} of them in {tries}"


def second_run(text: str) -> tuple[str, str]:
    """What a second run means, taken apart: the claim, and what it rests on."""
    for mark in (" because ", ": "):
        claim, found, rest = text.partition(mark)
        if found:
            return claim + mark.rstrip(), rest
    return text, ""


def own_second_run(tone: str) -> tuple[str, str]:
    """What a new try means, for the tenant's people: the claim, and what it rests on."""
    if tone == "ok":
        return "Trying it again is safe.", "What was done already is not done twice."
    return "It may have done a part of its work.", "Trying it again may do that part twice."


def clock_note(letter: DeadLetter, now: datetime) -> str:
    """How much of the promised time is used: ``200 of 240 min used. The clock has run since it first died, …``."""
    whole = letter.sla_s or (letter.due_at - letter.dead_at).total_seconds()
    used = letter_standing(letter, now).used * whole
    died_again = letter.last_died_at is not None and letter.last_died_at > letter.dead_at
    since = f"{'it first died' if died_again else 'it died'}, at {clock(letter.dead_at, now)}"
    paused = f", with {duration(letter.clock_paused_s)} of pauses" if letter.clock_paused_s else ""
    return f"{duration(used)} of {duration(whole)} used. The clock has run since {since}{paused}."


def own_clock_note(letter: DeadLetter, now: datetime) -> str:
    """The same for the tenant's people."""
    whole = (letter.due_at - letter.dead_at).total_seconds()
    return f"Our team promised to see to it within {duration(whole)} from {clock(letter.dead_at, now)} on."


def drained_note(letter: DeadLetter) -> str:
    """How a drained letter stood to its deadline."""
    if letter.drained_at is None:
        return ""
    left = (letter.due_at - letter.drained_at).total_seconds()
    return f"{duration(left)} before its deadline." if left >= 0 else f"{duration(-left)} after its deadline."
