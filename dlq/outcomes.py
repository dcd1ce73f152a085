"""Taking the ends of replays from Redis: at least once to the database, exactly once in what it does there.

A batch is read, noted in one transaction, and then removed from Redis member by member, exactly what was noted. Deaths
come through the intake; these are the other ends.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from django.db import connection, transaction
from django.utils import timezone
from redis.exceptions import ResponseError

from dlq.endings import Ending, settle
from dlq.inserting import AWAY, UNSTORABLE, insert
from dlq.letters import letter_of, placeholder_of
from dlq.models import DeadLetter, ReplayRun
from dlq.own_errors import DEATH_UNKNOWN
from dlq.text import capped, one_line, visible
from jobops.engine.client import Engine
from jobops.engine.keys import rq_job
from jobops.engine.link import is_away
from jobops.engine.records import Death, JobOutcome

log = logging.getLogger(__name__)

_STATES = {
    "succeeded": ReplayRun.State.SUCCEEDED,
    "discarded": ReplayRun.State.DISCARDED,
    "cancelled": ReplayRun.State.CANCELLED,
    "coalesced": ReplayRun.State.COALESCED,
}


def take_outcomes(engine: Engine, limit: int = 500) -> int:
    """Note at most ``limit`` ends of replays; answers how many left Redis, 0 when none waits.

    Must not run inside a transaction: an outcome leaves Redis only after the commit. Raises ``redis.RedisError`` and
    ``OperationalError``; in both cases what is not noted stays in Redis.
    """
    outcomes = engine.scripts.outcome_batch(limit)
    if not outcomes:
        return 0
    try:
        noted = _note(engine, outcomes)
    except AWAY:
        # The next call shall get a fresh connection instead of this broken one.
        connection.close_if_unusable_or_obsolete()
        raise
    if noted:
        engine.scripts.outcome_ack(noted)
    return len(noted)


def _note(engine: Engine, outcomes: Sequence[JobOutcome]) -> list[str]:
    """Note the outcomes; answers the members that need not stay in Redis."""
    noted = [outcome.member for outcome in outcomes if outcome.outcome not in _STATES]
    for member in noted:
        log.error("this is no outcome of a job, and is thrown away: %r", member[:1000])
    told = [outcome for outcome in outcomes if outcome.outcome in _STATES]
    try:
        _settle(engine, told)
        return noted + [outcome.member for outcome in told]
    except AWAY:
        raise
    except UNSTORABLE as error:
        log.warning("a batch of %d outcomes cannot be noted at once (%s); noting them singly", len(told), error)
    return noted + [outcome.member for outcome in told if _note_one(engine, outcome)]


def _note_one(engine: Engine, outcome: JobOutcome) -> bool:
    try:
        _settle(engine, [outcome])
    except AWAY:
        raise
    except UNSTORABLE:
        log.critical("outcome %r stays in Redis: it cannot be noted", outcome.member[:1000], exc_info=True)
        return False
    return True


def _settle(engine: Engine, outcomes: Sequence[JobOutcome]) -> None:
    with transaction.atomic(durable=True):
        unknown = settle([_ending(outcome) for outcome in outcomes])
    if unknown:
        # A restored database: the letter is made again from what is left of the job, and then ends as told.
        named = [ending for ending in unknown if ending.death]
        insert([_letter(engine, ending) for ending in named])
        with transaction.atomic(durable=True):
            nameless = [*settle(named), *(ending for ending in unknown if not ending.death)]
        for ending in nameless:
            log.error("the outcome of job %s names no death, and is thrown away: %r", ending.job_id, ending.replay_of)


def _ending(outcome: JobOutcome) -> Ending:
    return Ending(
        job_id=visible(outcome.id)[:200],
        state=_STATES[outcome.outcome],
        at=_instant(outcome.at_ms),
        replay_of=visible(outcome.replay_of),
        attempt=max(0, min(outcome.attempt, 2**31 - 1)),
        error_class=one_line(outcome.error_class, 255),
        error=capped(outcome.error, 500),
        into=one_line(outcome.into, 200),
    )


def _letter(engine: Engine, ending: Ending) -> DeadLetter:
    """A letter for the death that the job was a replay of, as far as the replay's own record tells."""
    assert ending.death is not None
    job_id, attempt = ending.death
    told = Death(ending.replay_of, job_id, attempt, int(ending.at.timestamp() * 1000), _record(engine, ending.job_id))
    try:
        letter = letter_of(told)
    except Exception as error:  # whatever one record holds, the others must not wait for it
        log.exception("the record of replay %s cannot be read; a placeholder takes its letter's place", ending.job_id)
        letter = placeholder_of(told, type(error).__name__)
    letter.attempts, letter.history, letter.placeholder = letter.attempt, [], True
    letter.error_class = ""
    letter.error = DEATH_UNKNOWN
    letter.traceback = ""
    return letter


def _record(engine: Engine, job_id: str) -> Mapping[bytes, bytes]:
    """The job's record; empty if a key of another kind stands in its place."""
    try:
        fields: Any = engine.redis.hgetall(rq_job(job_id))
    except ResponseError as error:
        if is_away(error):
            raise
        return {}
    return cast("Mapping[bytes, bytes]", fields)


def _instant(ms: int) -> datetime:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC) if ms > 0 else timezone.now()
    except (ValueError, OverflowError, OSError):
        return timezone.now()
