"""How replays end: a run and its letter, moved together and once, whoever tells it and however often.

What is told may be late, repeated, or of a run that this database does not know, as it was restored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import Max, Q

from dlq.causes.counting import attach, count_ends
from dlq.changing import SCHEDULER, record_moves, set_fields
from dlq.clock.catching_up import follow
from dlq.clock.draining import marks
from dlq.edits import without_edits
from dlq.ending_notes import note_of
from dlq.letters import JOB_ID_LENGTH
from dlq.locking import lock_letters
from dlq.models import DeadLetter, ReplayRun, State
from dlq.newest_death import CONTENT, take_over
from dlq.owners.redeciding import opened_again
from dlq.replaying import number_of
from dlq.rows import update_rows
from dlq.searchable import rewrite
from dlq.states import TRANSITIONS, Event, allows

Run = ReplayRun.State

EVENTS = {
    Run.SUCCEEDED: Event.SUCCEEDED,
    Run.DISCARDED: Event.SUCCEEDED,
    Run.DIED: Event.DIED,
    Run.CANCELLED: Event.CAME_BACK,
    Run.REFUSED: Event.CAME_BACK,
    Run.COALESCED: Event.CAME_BACK,
    Run.LOST: Event.CAME_BACK,
}

# What the watch concluded, and nobody saw: a real end that turns up later is believed.
CONCLUDED = (Run.REFUSED, Run.LOST)


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of one replay's job. ``by_watch``: nobody told it, the watch concluded it. ``told``: what a death tells,
    as a letter that is not saved. ``into``: the live job that a coalesced one became part of."""

    job_id: str
    state: ReplayRun.State
    at: datetime
    replay_of: str = ""
    attempt: int = 0
    error_class: str = ""
    error: str = ""
    into: str = ""
    told: DeadLetter | None = None
    by_watch: bool = False

    @property
    def death(self) -> tuple[str, int] | None:
        """The death that the job is a replay of: a letter's job id and attempt. None if ``replay_of`` names none."""
        job_id, _, attempt = self.replay_of.rpartition(":")
        if not (0 < len(job_id) <= JOB_ID_LENGTH and attempt.isascii() and attempt.isdigit() and len(attempt) < 10):
            return None
        return job_id, int(attempt)


@dataclass(slots=True)
class _Work:
    """What a batch of endings changes. ``before``, ``groups`` and ``dues``: states, groups and due times as they were;
    ``died``: how often; ``retold``: letters that may tell of another cause than before."""

    letters: dict[int, DeadLetter] = field(default_factory=dict)
    before: dict[int, str] = field(default_factory=dict)
    groups: dict[int, int | None] = field(default_factory=dict)
    dues: dict[int, datetime] = field(default_factory=dict)
    runs: dict[str, ReplayRun] = field(default_factory=dict)
    made: list[ReplayRun] = field(default_factory=list)
    ended: list[ReplayRun] = field(default_factory=list)
    died: Counter[int] = field(default_factory=Counter)
    retold: set[int] = field(default_factory=set)
    touched: set[int] = field(default_factory=set)


def settle(endings: Sequence[Ending]) -> list[Ending]:
    """Note how these replays ended, in one transaction; answers those of no letter that this database knows.

    A second time is a no-op. Raises what the database raises; then nothing is noted.
    """
    with transaction.atomic():
        places = _letter_ids(endings)
        work = _Work(letters={letter.pk: letter for letter in lock_letters(set(places.values()))})
        work.before = {letter_id: letter.state for letter_id, letter in work.letters.items()}
        work.groups = {letter_id: letter.group_id for letter_id, letter in work.letters.items()}
        work.dues = {letter_id: letter.due_at for letter_id, letter in work.letters.items()}
        # Read under the lock: whoever ends a run holds its letter.
        work.runs = {run.job_id: run for run in ReplayRun.objects.filter(job_id__in=list(places))}
        unknown = []
        for ending in endings:
            letter = work.letters.get(places.get(ending.job_id, 0))
            if letter is None:
                unknown.append(ending)
            else:
                _end(work, letter, ending)
        _save(work)
    return unknown


def _letter_ids(endings: Sequence[Ending]) -> dict[str, int]:
    """Job id → its letter's id: by the run, or else by the death that the job says it is a replay of."""
    ids = [ending.job_id for ending in endings]
    found = dict(ReplayRun.objects.filter(job_id__in=ids).values_list("job_id", "letter_id"))
    deaths = {ending.job_id: death for ending in endings if ending.job_id not in found and (death := ending.death)}
    if not deaths:
        return found
    which = Q()
    for job_id, attempt in set(deaths.values()):
        which |= Q(job_id=job_id, attempt=attempt)
    letters = {
        (job_id, attempt): pk
        for pk, job_id, attempt in DeadLetter.objects.filter(which).values_list("pk", "job_id", "attempt")
    }
    return found | {job_id: letters[death] for job_id, death in deaths.items() if death in letters}


def _end(work: _Work, letter: DeadLetter, ending: Ending) -> None:
    run = work.runs.get(ending.job_id) or _unknown_run(work, letter, ending)
    if not _is_news(run, ending):
        return
    ending = without_edits(letter, run, ending)
    run.state, run.ended_at, run.attempt = ending.state, ending.at, ending.attempt
    run.note = note_of(letter, run, ending)
    work.ended.append(run)
    event = EVENTS[ReplayRun.State(ending.state)]
    if run.payload and ending.state == Run.DISCARDED:
        # Of other arguments its contract said that nothing is left to do. Of the letter's own nothing is known.
        event = Event.CAME_BACK
    newest = run.number >= letter.replays
    if event is Event.DIED:
        error_class = letter.error_class
        take_over(letter, run.number, ending, newest=newest and letter.state != State.RESOLVED)
        work.died[letter.pk] += 1
        # One that told nothing but its class may not lose the frames that the letter was known by.
        if ending.told is not None or letter.error_class != error_class:
            work.retold.add(letter.pk)
    # An older replay that did its work after all drains its letter, but none that is being replayed again.
    if allows(letter.state, event) and (newest or _drains_late(letter, event)):
        _move(letter, event, run, ending)
    elif newest:
        letter.note = run.note
    work.touched.add(letter.pk)


def _drains_late(letter: DeadLetter, event: Event) -> bool:
    return event is Event.SUCCEEDED and letter.state != State.REPLAYING


def _move(letter: DeadLetter, event: Event, run: ReplayRun, ending: Ending) -> None:
    before, letter.state, letter.note = letter.state, TRANSITIONS[event].target, run.note
    if before == State.DISCARDED:
        # Whoever discarded it took the replay for lost. There is nothing to be undone any more.
        letter.note = run.note or f"Replay {run.number} succeeded after all, when its letter was discarded already."
        letter.discard_reason, letter.discarded_in = "", None
    if letter.state == State.RESOLVED:
        letter.drained_by = "replay"
        set_fields([letter], marks(letter, ending.at))


def _is_news(run: ReplayRun, ending: Ending) -> bool:
    if run.state == Run.RUNNING:
        return True
    if ending.by_watch:
        return False
    # Of two real ends the one of the later attempt counts: somebody sent the ended job back by hand.
    return run.state in CONCLUDED or ending.attempt > run.attempt


def _unknown_run(work: _Work, letter: DeadLetter, ending: Ending) -> ReplayRun:
    """A run that this database was never told of, or has forgotten."""
    taken = ReplayRun.objects.filter(letter=letter).aggregate(most=Max("number"))["most"] or 0
    taken = max([taken, *(run.number for run in work.made if run.letter_id == letter.pk)])
    number = max(number_of(ending.job_id), taken + 1)
    run = ReplayRun(letter=letter, number=number, job_id=ending.job_id, by="", started_at=ending.at)
    work.runs[ending.job_id] = run
    work.made.append(run)
    letter.replays, letter.replay_job_id = max(letter.replays, number), ending.job_id
    return run


_COMMON = (
    "state", "note", "drained_by", "drained_at", "drain_s", "discard_reason", "discarded_in", "replays",
    "replay_job_id",
)  # fmt: skip
_RUN = ("state", "ended_at", "attempt", "note")


def _save(work: _Work) -> None:
    ReplayRun.objects.bulk_create(work.made)
    made = {id(run) for run in work.made}
    # By key, as whoever takes many: or two might wait for each other.
    ended = {run.pk: run for run in work.ended if id(run) not in made}
    update_rows(ReplayRun, [ended[pk] for pk in sorted(ended)], _RUN)
    calm = [work.letters[pk] for pk in sorted(work.touched - work.died.keys())]
    died = [work.letters[pk] for pk in sorted(work.died)]
    attach([letter for letter in died if letter.pk in work.retold])
    update_rows(DeadLetter, calm, _COMMON)
    update_rows(DeadLetter, died, [*_COMMON, *CONTENT, "group"])
    rewrite(died)
    # Of its new cause, reason and error: another team may have to deal with it.
    again = [letter for letter in (*calm, *died) if letter.state == State.OPEN]
    follow(again, work.groups)
    opened_again(again)
    count_ends([*calm, *died], work.before, work.groups, work.died, work.dues)
    moved = [letter for letter in (*calm, *died) if letter.state != work.before[letter.pk]]
    record_moves(SCHEDULER, moved, work.before, _runs_of(work.ended))


def _runs_of(runs: Iterable[ReplayRun]) -> dict[int, ReplayRun]:
    return {run.letter_id: run for run in runs}
