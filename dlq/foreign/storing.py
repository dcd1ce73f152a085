"""Failures into the table, each with what its source keeps of it, in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from dlq.foreign.letters import letter_of
from dlq.foreign.owning import hand_to
from dlq.foreign.records import Record, packed
from dlq.foreign.retelling import Known, known_of, retell
from dlq.foreign.wish import Report, Wish
from dlq.inserting import AWAY, UNSTORABLE, insert
from dlq.models import DeadLetter, ForeignJob
from jobops.audit.recording import Change, record

log = logging.getLogger(__name__)


def store_again(wish: Wish, each: Record, known: Known, report: Report) -> list[Record]:
    """A job that has a letter failed anew: the letter tells of it while it is undrained, else there is another one."""
    try:
        if retell(wish.source.name, each):
            report.again += 1
            return [each]
    except AWAY:
        raise
    except UNSTORABLE as error:
        return _refused(wish, each, report, error)
    return store(wish, [(each, known.attempts + 1)], report)


def store(wish: Wish, failures: Sequence[tuple[Record, int]], report: Report) -> list[Record]:
    """Make letters of these failures (record, attempt); answers those that the database holds now."""
    if not failures:
        return []
    try:
        new = _insert(wish, failures)
    except AWAY:
        raise
    except UNSTORABLE as error:
        if len(failures) == 1:
            return _refused(wish, failures[0][0], report, error)
        log.warning("%d failures cannot be stored at once (%s); storing them singly", len(failures), error)
        return [each for failure in failures for each in store(wish, [failure], report)]
    for each, _attempt in failures:
        if each.rq_id in new:
            report.count(each)
    # Not those whose letter was there already: of which failure that is, only its ForeignJob tells.
    held = known_of(wish.source.name, [each.rq_id for each, _attempt in failures])
    return [each for each, _attempt in failures if each.rq_id in held and held[each.rq_id].has(each)]


def _refused(wish: Wish, each: Record, report: Report, error: Exception) -> list[Record]:
    log.error("failure %s of %s cannot be stored: %s", each.rq_id, wish.source.name, error)
    report.skipped["the database does not take it"] += 1
    return []


def _insert(wish: Wish, failures: Sequence[tuple[Record, int]]) -> set[str]:
    letters = [letter_of(each, wish.source.name, attempt, wish.tenant) for each, attempt in failures]
    told = {letter.job_id: each for letter, (each, _) in zip(letters, failures, strict=True)}
    inserted: set[str] = set()

    def beside(new: Sequence[DeadLetter]) -> None:
        rows = [_foreign(wish.source.name, letter, told[letter.job_id]) for letter in new]
        ForeignJob.objects.bulk_create(rows)
        inserted.update(row.rq_id for row in rows)
        _tell(wish, new)

    decided = partial(hand_to, wish.owner, wish.by) if wish.owner else lambda letters: None
    insert(letters, decided=decided, beside=beside)
    return inserted


def _foreign(source: str, letter: DeadLetter, each: Record) -> ForeignJob:
    return ForeignJob(
        letter_id=letter.pk,
        source=source,
        rq_id=each.rq_id,
        queue=each.queue,
        failed_at=each.failed_at,
        record=packed(each.fields),
    )


def _tell(wish: Wish, letters: Sequence[DeadLetter]) -> None:
    """One row in the audit for all that one transaction took over."""
    if letters:
        after = {"letters": len(letters), "queues": sorted({letter.queue for letter in letters})[:20]}
        if wish.tenant is not None:
            after["tenant"] = wish.tenant.slug
        record(wish.by, Change("source.import", "source", wish.source.name, after=after))
