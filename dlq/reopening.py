"""The deaths of replays: each opens the letter again that was replayed."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction

from dlq.endings import Ending, settle
from dlq.inserting import AWAY, UNSTORABLE
from dlq.models import DeadLetter, ReplayRun
from dlq.replaying import number_of
from dlq.text import visible
from jobops.engine.records import Death

log = logging.getLogger(__name__)

_FIELD = b"jo_replay_of"


def is_replay(death: Death) -> bool:
    """Whether this may be the death of a replay: its record says so, or is gone and its id looks like one."""
    return bool(death.fields.get(_FIELD)) or number_of(death.job_id) > 0


def reopen(told: Sequence[tuple[Death, DeadLetter]]) -> dict[str, bool | None]:
    """Open the letters of these deaths again. ``told``: each death with what it tells.

    Answers for each member: True (noted), False (the database does not take it), None (there is no such letter).
    Raises what says that the database is away.
    """
    if not told:
        return {}
    endings = {death.member: _ending(death, letter) for death, letter in told}
    try:
        unknown = {ending.job_id for ending in _settle(list(endings.values()))}
        return {member: None if ending.job_id in unknown else True for member, ending in endings.items()}
    except AWAY:
        raise
    except UNSTORABLE as error:
        log.warning("the deaths of %d replays cannot be noted at once (%s); noting them singly", len(told), error)
    return {member: _one(member, ending) for member, ending in endings.items()}


def _one(member: str, ending: Ending) -> bool | None:
    for plainer in (ending, replace(ending, told=None)):
        try:
            return None if _settle([plainer]) else True
        except AWAY:
            raise
        except UNSTORABLE as error:
            log.error("the death %s of a replay cannot be noted as it is: %s: %s", member, type(error).__name__, error)
    log.critical("death %s stays in Redis: its letter cannot be opened again", member)
    return False


def _settle(endings: Sequence[Ending]) -> list[Ending]:
    with transaction.atomic(durable=True):
        return settle(endings)


def _ending(death: Death, letter: DeadLetter) -> Ending:
    return Ending(
        job_id=letter.job_id,
        state=ReplayRun.State.DIED,
        at=letter.dead_at,
        replay_of=visible(death.fields.get(_FIELD, b"")),
        attempt=letter.attempt,
        error_class=letter.error_class,
        error=letter.error,
        told=letter,
    )
