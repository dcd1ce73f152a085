"""A foreign job that failed again: its letter, as long as it is undrained, tells of the newest failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from dlq.endings import Ending, settle
from dlq.foreign.letters import letter_of
from dlq.foreign.records import Record, packed
from dlq.locking import lock_letters
from dlq.models import UNDRAINED, DeadLetter, ForeignJob, ReplayRun
from dlq.replaying import death_of, replay_id


@dataclass(slots=True)
class Known:
    """What is known of one job of a source: when it failed, as its letters tell, and the last of its letters."""

    attempts: int = 0
    failures: set[datetime] = field(default_factory=set)

    def has(self, record: Record) -> bool:
        """Whether a letter tells of just this failure."""
        return record.failed_at in self.failures


def known_of(source: str, rq_ids: Sequence[str]) -> dict[str, Known]:
    """By id, those of these jobs that have letters; one query."""
    found: dict[str, Known] = {}
    rows = ForeignJob.objects.filter(source=source, rq_id__in=list(rq_ids)).order_by("pk")
    for rq_id, failed_at, attempt in rows.values_list("rq_id", "failed_at", "letter__attempt"):
        known = found.setdefault(rq_id, Known())
        known.failures.add(failed_at)
        known.attempts = max(known.attempts, attempt)
    return found


def retell(source: str, record: Record) -> bool:
    """Have the job's undrained letter tell of this failure, its clock as before; answers False if there is none.

    A second time is a no-op. What is read must be what the source says after the database was asked (else an older
    failure might be told as the newest). Raises what the database raises; then nothing has happened.
    """
    rows = ForeignJob.objects.filter(source=source, rq_id=record.rq_id, letter__state__in=UNDRAINED)
    letter_id = rows.order_by("-pk").values_list("pk", flat=True).first()
    if letter_id is None:
        return False
    with transaction.atomic(durable=True):
        return _retell(letter_id, source, record)


def _retell(letter_id: int, source: str, record: Record) -> bool:
    letters = lock_letters([letter_id])
    if not letters or letters[0].state not in UNDRAINED:
        return False
    letter = letters[0]
    if ForeignJob.objects.filter(source=source, rq_id=record.rq_id, failed_at=record.failed_at).exists():
        return True
    fields = {"failed_at": record.failed_at, "record": packed(record.fields), "queue": record.queue}
    ForeignJob.objects.filter(pk=letter_id).update(**fields)
    settle([death(letter, source, record)])
    return True


def death(letter: DeadLetter, source: str, record: Record) -> Ending:
    """The end of the letter's replay that runs or was lost, or else of one that somebody began at the source."""
    run = ReplayRun.objects.filter(letter=letter).order_by("-number").first()
    if run is not None and run.state not in (ReplayRun.State.RUNNING, ReplayRun.State.LOST):
        run = None
    told = letter_of(record, source)
    return Ending(
        job_id=run.job_id if run is not None else replay_id(letter.job_id, letter.attempt, letter.replays + 1),
        state=ReplayRun.State.DIED,
        at=min(record.failed_at, timezone.now()),
        replay_of=death_of(letter),
        attempt=told.attempts,
        error_class=told.error_class,
        error=told.error,
        told=told,
    )
