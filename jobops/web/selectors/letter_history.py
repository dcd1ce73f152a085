"""What happened to a letter, the newest first: its death, its replays, and what people did, from the audit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from dlq.edits import Changed, changes_of
from dlq.models import DeadLetter, ReplayRun
from dlq.redirects import redirects_for
from jobops.audit.models import AuditEntry
from jobops.web import letter_page_words as words
from jobops.web.formats import clock
from jobops.web.job_words import REASONS
from jobops.web.words import Look
from tenants.models import Membership

MOST_RUNS = MOST_ROWS = 50

DID = {
    "letter.discard": Look("discarded it", "trash", ""),
    "letter.undo": Look("took the discard back", "arrow-back-up", ""),
    "letter.cancel": Look("cancelled the replay", "ban", ""),
    "letter.take": Look("took it", "user", ""),
    "letter.assign": Look("handed it over", "user", ""),
    "letter.give_back": Look("gave it back to the rules", "arrow-back-up", ""),
    "letter.clock_pause": Look("paused its clock", "clock-pause", ""),
    "letter.clock_resume": Look("let its clock go on", "player-play", ""),
}
OF_CAUSE = {
    "group.take": Look("took the whole cause", "user", ""),
    "group.assign": Look("handed the whole cause over", "user", ""),
    "group.give_back": Look("gave the whole cause back to the rules", "arrow-back-up", ""),
    "group.acknowledge": Look("acknowledged the cause", "square-check", ""),
    "group.snooze": Look("snoozed the cause", "zzz", ""),
    "group.clock_pause": Look("paused the clock of the whole cause", "clock-pause", ""),
    "group.clock_resume": Look("let the clock of the whole cause go on", "player-play", ""),
}
OWN_DID = {"letter.discard": "gave up on it", "letter.undo": "took that back", "letter.cancel": "stopped the new try"}
STARTED = Look("replayed it", "refresh", "")
DIED = Look("Died", "x", "")
ENQUEUED = Look("Enqueued", "arrow-narrow-right", "")


@dataclass(frozen=True, slots=True)
class Happening:
    """One line. ``who``: empty for what happened by itself; ``job_id``: the job to link; ``quote``: a reason;
    ``edits``: how the arguments of a replay differ from the letter's own."""

    at: datetime
    icon: str
    who: str
    text: str
    job_id: str = ""
    bulk_id: int | None = None
    note: str = ""
    quote: str = ""
    edits: Sequence[Changed] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads. For a tenant's people, ``colleagues`` are named, and everybody else is our team."""

    staff: bool
    colleagues: Collection[str] = ()

    def name(self, actor: str) -> str:
        """The actor of a row as this reader knows them."""
        if not self.staff:
            return actor if actor in self.colleagues else "Our team"
        kind, _, login = actor.partition(":")
        return f"{login}, by command," if kind == "command" and login else actor


def reader_of(letter: DeadLetter, *, staff: bool) -> Reader:
    """The reader; one query for a tenant's people."""
    if staff:
        return Reader(True)
    rows = Membership.objects.filter(tenant=letter.tenant)
    return Reader(False, frozenset(rows.values_list("user__username", flat=True)))


def runs_of(letter: DeadLetter) -> list[ReplayRun]:
    """Its replays, the newest first."""
    return list(letter.runs.order_by("-number")[:MOST_RUNS])


def history_of(letter: DeadLetter, runs: Sequence[ReplayRun], reader: Reader, *, mask: bool = True) -> list[Happening]:
    """All of it, the newest first, in two queries. ``mask``: whether the reader sees arguments masked."""
    lines = [*_facts(letter, reader), *_runs(letter, runs, reader, mask=mask), *_rows(letter, reader)]
    if reader.staff and letter.group_id is not None:
        lines += _of_cause(letter)
    # Of one instant what is told last comes first: a death is told before what people did about it.
    return sorted(lines, key=lambda line: line.at)[::-1]


def _facts(letter: DeadLetter, reader: Reader) -> Iterator[Happening]:
    if letter.enqueued_at:
        yield Happening(letter.enqueued_at, ENQUEUED.icon, "", "Enqueued" if reader.staff else "Sent in")
    if not reader.staff:
        yield Happening(letter.dead_at, DIED.icon, "", "Failed for good; our team was told")
        return
    reason = REASONS.get(letter.reason, "")
    why = f": {reason[:1].lower()}{reason[1:]}" if reason else ""
    yield Happening(
        letter.dead_at, DIED.icon, "", f"Died after attempt {letter.attempt}{why}; went to {letter.owner}, "
        f"due {clock(letter.due_at)}",
    )  # fmt: skip


def _runs(letter: DeadLetter, runs: Sequence[ReplayRun], reader: Reader, *, mask: bool) -> Iterator[Happening]:
    edited = any(run.payload for run in runs)
    redirects, named = (redirects_for([letter]), _edited(letter)) if edited else ({}, {})
    for run in reversed(runs):
        did = STARTED.word if reader.staff else "tried it again"
        bulk = run.bulk_id if reader.staff else None
        # A lost one's job is nowhere, so it has no page.
        job_id = "" if run.state == ReplayRun.State.LOST else run.job_id
        replaced = named.get(run.job_id, ())
        edits = (
            changes_of(letter, run.payload, mask=mask, redirects=redirects, replaced=replaced) if run.payload else ()
        )
        did = f"{did} with edited arguments" if run.payload else did
        yield Happening(run.started_at, STARTED.icon, reader.name(run.by), did, job_id, bulk, edits=edits)
        if run.ended_at is None:
            continue
        state = ReplayRun.State(run.state)
        edited_and_ended = bool(run.payload) and state is ReplayRun.State.DISCARDED
        look = words.EDITED_AND_ENDED if edited_and_ended else words.ENDS[state]
        if not reader.staff:
            own = words.OWN_ENDS.get(state, "The new try did not take place")
            yield Happening(run.ended_at, look.icon, "", own)
        elif run.note:
            yield Happening(run.ended_at, look.icon, "", run.note, note=f"{look.word[:1].upper()}{look.word[1:]}")
        else:
            ended = run.get_state_display().lower()
            yield Happening(run.ended_at, look.icon, "", f"Replay {run.number} {ended}: {look.word}")


def _edited(letter: DeadLetter) -> dict[str, Collection[str]]:
    """Job of a replay → which arguments of it were edited, also those that were given the value that they had."""
    rows = AuditEntry.objects.filter(target_kind="letter", target_id=str(letter.pk), action="letter.replay")
    told = rows.order_by("-id").values_list("after", flat=True)[:MOST_ROWS]
    return {str(after.get("job")): after.get("edited") or () for after in told if isinstance(after, dict)}


def _rows(letter: DeadLetter, reader: Reader) -> Iterator[Happening]:
    rows = AuditEntry.objects.filter(
        target_kind="letter", target_id=str(letter.pk), action__in=list(DID) if reader.staff else list(OWN_DID)
    )
    for row in reversed(rows.order_by("-id")[:MOST_ROWS]):
        look = DID[row.action]
        text = look.word if reader.staff else OWN_DID[row.action]
        # What our team writes down is for our team.
        quote = row.reason if reader.staff or row.actor in reader.colleagues else ""
        yield Happening(row.at, look.icon, reader.name(row.actor), text, quote=quote)


def _of_cause(letter: DeadLetter) -> Iterator[Happening]:
    """What was decided about all letters of its cause since it died."""
    rows = AuditEntry.objects.filter(
        target_kind="group", target_id=str(letter.group_id), action__in=list(OF_CAUSE), at__gte=letter.dead_at
    )
    reader = Reader(True)
    for row in reversed(rows.order_by("-id")[:MOST_ROWS]):
        look = OF_CAUSE[row.action]
        yield Happening(row.at, look.icon, reader.name(row.actor), look.word, quote=row.reason)
