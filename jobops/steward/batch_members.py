"""Members of a batch of which Redis was not told: looked for in the outbox, in Redis and among the dead letters."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence

from dlq.models import DeadLetter, State
from jobops.batches.members import Row, rows_of
from jobops.batches.models import Batch
from jobops.context.models import OutboxEntry
from jobops.engine.batch_commands import Place, Told
from jobops.engine.client import Engine
from jobops.engine.records import Fate

log = logging.getLogger("jobops.steward")

MOST = 2_000
"""Members of one batch that are looked for at once."""
CHUNK = 500

_ENDS: dict[str, Told] = {"succeeded": "succeeded", "discarded": "discarded", "cancelled": "cancelled"}
_BY_LETTER: dict[str, Told] = {State.OPEN: "dead", State.RESOLVED: "succeeded", State.DISCARDED: "dropped"}


def tell_of_members(engine: Engine, batch: Batch, cursor: int = 0) -> int:
    """Tell Redis how members ended that it does not know; answers where to go on, 0: that was all.

    Members that wait or run are left alone. Raises ``redis.RedisError``.
    """
    tell_withdrawn(engine, batch)
    if cursor == 0:
        # A letter is drained by a person, or undone again: of that Redis is never told.
        for place in ("dead", "dropped"):
            _tell_by_letters(engine, batch, place)
    seen = 0
    while True:
        cursor, members = engine.scripts.batch_members(batch.pk, "left", cursor, CHUNK)
        seen += len(members)
        if members:
            _tell(engine, batch, _lost_sight_of(engine, members))
        if cursor == 0 or seen >= MOST:
            return cursor


def tell_withdrawn(engine: Engine, batch: Batch) -> int:
    """Tell Redis of members that were cancelled in the outbox; answers how many. A row that was told of is its batch's
    no more."""
    told = 0
    while True:
        rows = rows_of(batch).filter(state=Row.CANCELLED).order_by("pk")
        ids = list(rows.values_list("pk", flat=True)[:CHUNK])
        if not ids:
            return told
        told += len(ids)
        engine.scripts.batch_tell(batch.pk, "withdrawn", ids)
        OutboxEntry.objects.filter(pk__in=ids, state=Row.CANCELLED).update(batch="")


def _tell_by_letters(engine: Engine, batch: Batch, place: Place) -> None:
    cursor = 0
    while True:
        cursor, members = engine.scripts.batch_members(batch.pk, place, cursor, CHUNK)
        told = {member: how for member, how in _by_letters(members).items() if how != place}
        _tell(engine, batch, told)
        if cursor == 0:
            return


def _lost_sight_of(engine: Engine, members: Sequence[str]) -> dict[str, Told]:
    """Those that have ended, or are nowhere, though they count as on their way."""
    fates = {member: fate for member, fate in engine.scripts.fates(members).items() if not _goes_on(fate)}
    told: dict[str, Told] = {member: _ENDS[fate.state] for member, fate in fates.items() if fate.state in _ENDS}
    unknown = [member for member in fates if member not in told]
    states = _letter_states(unknown)
    in_outbox = set(OutboxEntry.objects.filter(pk__in=unknown).values_list("pk", flat=True)) if unknown else set()
    for member in unknown:
        if member in states:
            # While it is replayed, the replay stands for it.
            if states[member] != State.REPLAYING:
                told[member] = _BY_LETTER[states[member]]
        elif member not in in_outbox:
            told[member] = "lost"
    return told


def _goes_on(fate: Fate) -> bool:
    return fate.pending or fate.state == "alive"


def _by_letters(members: Sequence[str]) -> dict[str, Told]:
    states = _letter_states(members)
    return {member: _BY_LETTER[state] for member, state in states.items() if state in _BY_LETTER}


def _letter_states(members: Sequence[str]) -> dict[str, str]:
    """The state of the newest letter of each that has one."""
    if not members:
        return {}
    letters = DeadLetter.objects.filter(job_id__in=members).order_by("attempt", "pk")
    return dict(letters.values_list("job_id", "state"))


def _tell(engine: Engine, batch: Batch, told: dict[str, Told]) -> None:
    by_how: dict[Told, list[str]] = defaultdict(list)
    for member, how in told.items():
        by_how[how].append(member)
    for how, members in by_how.items():
        if engine.scripts.batch_tell(batch.pk, how, members):
            log.info("batch %s: %d member(s) count as %s", batch.pk, len(members), how)
