"""Taking failed jobs of another installation over: at least once into the table, exactly once as a letter.

A failure leaves its source's registry only after its ``ForeignJob`` is committed, and only if it is still the same.
Whoever is killed in between leaves failures that the next one finds known; two at once are as right as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dlq.foreign.records import Record, record_of
from dlq.foreign.retelling import known_of
from dlq.foreign.scripts import Commands
from dlq.foreign.storing import store, store_again
from dlq.foreign.wish import Report, Wish

PAGE = 200
"""Failures that are read, stored and taken out at once."""


NAMELESS = "the name of its queue cannot be printed"


class Seen:
    """What a process that goes on and on need not read again: failures that stay in their registries."""

    def __init__(self, most: int = 1_000_000) -> None:
        self._scores: dict[tuple[str, bytes], float] = {}
        self._most = most

    def new(self, queue: str, page: Sequence[tuple[bytes, float]]) -> list[bytes]:
        """The ids of those that were not seen with this score."""
        return [rq_id for rq_id, score in page if self._scores.get((queue, rq_id)) != score]

    def add(self, queue: str, page: Sequence[tuple[bytes, float]]) -> None:
        """These were dealt with."""
        if len(self._scores) > self._most:
            self._scores.clear()
        self._scores.update({(queue, rq_id): score for rq_id, score in page})


def take_over(
    commands: Commands,
    wish: Wish,
    *,
    report: Report | None = None,
    thorough: bool = True,
    seen: Seen | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Report:
    """One pass through the registries; answers what was done. ``thorough`` as for ``Commands.queues``; ``seen``: of
    the passes before; ``report``: what is counted in, so that it tells also of a pass that was broken off.

    Must not run inside a transaction. Raises ``redis.RedisError`` and what the database raises when it is away: what
    was done until then is done, and the next pass goes on.
    """
    report, seen = report or Report(), seen or Seen()
    nameless: list[bytes] = []
    queues = wish.queues or commands.queues(thorough=thorough, nameless=nameless)
    for name in nameless:
        if count := commands.count_failed(name):
            report.skipped[NAMELESS] += count
    for queue in queues:
        for page in commands.pages(queue, PAGE):
            if stopping():
                break
            _portion(commands, wish, queue, seen.new(queue, page), report)
            if wish.leave:
                seen.add(queue, page)
    return report


def _portion(commands: Commands, wish: Wish, queue: str, ids: Sequence[bytes], report: Report) -> None:
    rest = list(ids)
    while rest:
        entries = commands.read(queue, rest)
        rest = rest[len(entries) :]
        records = []
        for entry in entries:
            each = record_of(entry, queue) if entry.state == "there" else None
            if not entry.score:
                continue  # somebody else has dealt with it
            if each is not None and not each.is_own:
                records.append(each)
            else:
                report.skipped[_why(entry.state, each)] += 1
        _deal_with(commands, wish, queue, records, report)


def _why(state: str, each: Record | None) -> str:
    if each is not None:
        return "a job of our own"
    return {
        "gone": "its record is gone; RQ has forgotten it",
        "large": "its record is too large",
        "there": "its id is no text",
    }.get(state, "what stands in its place is no record of RQ's")


def _deal_with(commands: Commands, wish: Wish, queue: str, records: Sequence[Record], report: Report) -> None:
    known = known_of(wish.source.name, [each.rq_id for each in records])
    new = [each for each in records if each.rq_id not in known]
    anew = [each for each in records if each.rq_id in known and not known[each.rq_id].has(each)]
    before = len(records) - len(new) - len(anew)
    if wish.dry_run:
        report.known += before
        for each in (*new, *anew):
            report.count(each)
        return
    stored = store(wish, [(each, 1) for each in new], report)
    # What the source says now was said after what the database knows: an older failure is never taken for a new one.
    for each in _still_so(commands, queue, anew):
        stored += store_again(wish, each, known[each.rq_id], report)
    report.known += before
    done = [*stored, *(each for each in records if each.rq_id in known and known[each.rq_id].has(each))]
    if not wish.leave:
        report.removed += commands.take(queue, [each.failure for each in done])


def _still_so(commands: Commands, queue: str, records: Sequence[Record]) -> Iterable[Record]:
    for each in records:
        entry = commands.read(queue, [each.rq_id.encode()])[0]
        if record_of(entry, queue) == each:
            yield each
