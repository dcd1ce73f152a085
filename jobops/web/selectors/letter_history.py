"""What happened to a letter, the newest first: its death, its replays, and what people did, from the audit."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from dlq.models import DeadLetter, ReplayRun
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
}
OWN_DID = {"letter.discard": "gave up on it", "letter.undo": "took that back", "letter.cancel": "stopped the new try"}
STARTED = Look("replayed it", "refresh", "")
DIED = Look("Died", "x", "")
ENQUEUED = Look("Enqueued", "arrow-narrow-right", "")


@dataclass(frozen=True, slots=True)
class Happening:
    """One line. ``who``: empty for what happened by itself; ``job_id``: the job to link; ``quote``: a reason."""

    at: datetime
    icon: str
    who: str
    text: str
    job_id: str = ""
    bulk_id: int | None = None
    note: str = ""
    quote: str = ""


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


def history_of(letter: DeadLetter, reader: Reader) -> list[Happening]:
    """All of it, the newest first, in two queries."""
    runs = list(letter.runs.order_by("-number")[:MOST_RUNS])
    lines = [*_facts(letter, reader), *_runs(runs, reader), *_rows(letter, reader)]
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


def _runs(runs: list[ReplayRun], reader: Reader) -> Iterator[Happening]:
    for run in reversed(runs):
        did = STARTED.word if reader.staff else "tried it again"
        bulk = run.bulk_id if reader.staff else None
        # A lost one's job is nowhere, so it has no page.
        job_id = "" if run.state == ReplayRun.State.LOST else run.job_id
        yield Happening(run.started_at, STARTED.icon, reader.name(run.by), did, job_id, bulk)
        if run.ended_at is None:
            continue
        look = words.ENDS[ReplayRun.State(run.state)]
        if not reader.staff:
            own = words.OWN_ENDS.get(ReplayRun.State(run.state), "The new try did not take place")
            yield Happening(run.ended_at, look.icon, "", own)
        elif run.note:
            yield Happening(run.ended_at, look.icon, "", run.note, note=f"{look.word[:1].upper()}{look.word[1:]}")
        else:
            ended = run.get_state_display().lower()
            yield Happening(run.ended_at, look.icon, "", f"Replay {run.number} {ended}: {look.word}")


def _rows(letter: DeadLetter, reader: Reader) -> Iterator[Happening]:
    rows = AuditEntry.objects.filter(target_kind="letter", target_id=str(letter.pk), action__in=DID)
    for row in reversed(rows.order_by("-id")[:MOST_ROWS]):
        look = DID[row.action]
        text = look.word if reader.staff else OWN_DID[row.action]
        # What our team writes down is for our team.
        quote = row.reason if reader.staff or row.actor in reader.colleagues else ""
        yield Happening(row.at, look.icon, reader.name(row.actor), text, quote=quote)
