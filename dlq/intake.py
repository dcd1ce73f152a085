"""Taking deaths from Redis into the database: at least once into the table, exactly once as a letter.

A batch is read, stored in one transaction, and then removed from Redis member by member, exactly what is stored.
Whoever dies in between leaves deaths that the next one stores again as a no-op; two at once are as right as one.
The death of a replay makes no letter: the one that was replayed opens again.
"""

import logging
from collections.abc import Callable, Iterator, Sequence

from django.db import connection

from dlq.inserting import AWAY, UNSTORABLE, insert, key_of
from dlq.letters import letter_of, placeholder_of
from dlq.models import DeadLetter
from dlq.reopening import is_replay, reopen
from jobops.engine.client import Engine
from jobops.engine.records import Death

log = logging.getLogger(__name__)

Told = tuple[Death, DeadLetter]
"""A death and the letter that it makes."""


def take_in(engine: Engine, limit: int = 500) -> int:
    """Make letters of at most ``limit`` deaths; answers how many left Redis, 0 when none waits.

    Must not run inside a transaction: a death leaves Redis only after the commit. Raises ``redis.RedisError`` and
    ``OperationalError``; in both cases what is not stored stays in Redis.
    """
    deaths = engine.scripts.dead_batch(limit)
    if not deaths:
        return 0
    try:
        stored = _store(deaths)
    except AWAY:
        # The next call shall get a fresh connection instead of this broken one.
        connection.close_if_unusable_or_obsolete()
        raise
    if stored:
        engine.scripts.dead_ack(stored)
    return len(stored)


def _store(deaths: Sequence[Death]) -> list[str]:
    """Store the deaths; answers the members that the database now holds."""
    told = [(death, _read(death)) for death in deaths]
    reopened = reopen([each for each in told if is_replay(each[0])])
    lost = _make_letters([each for each in told if reopened.get(each[0].member) is None])
    lost |= {member for member, noted in reopened.items() if noted is False}
    return [death.member for death in deaths if death.member not in lost]


def _read(death: Death) -> DeadLetter:
    try:
        return letter_of(death)
    except Exception as error:  # whatever one record holds, the others must not wait for it
        log.exception("death %s cannot be read; a placeholder takes its place", death.member)
        return placeholder_of(death, type(error).__name__)


def _make_letters(told: Sequence[Told]) -> set[str]:
    """Make letters of these deaths; answers the members that the database does not take in any form."""
    if not told:
        return set()
    try:
        held = insert([letter for _, letter in told])
    except AWAY:
        raise
    except UNSTORABLE as error:
        log.warning("a batch of %d deaths cannot be stored at once (%s); storing them singly", len(told), error)
        held = set()
    missing = [(death, letter) for death, letter in told if key_of(letter) not in held]
    return {death.member for death, letter in missing if not _store_one(death, letter)}


def _store_one(death: Death, letter: DeadLetter) -> bool:
    """Store one letter or, failing that, a placeholder; answers False if the database takes neither."""
    problem = ""
    for make in _ever_plainer(death, letter):
        try:
            candidate = make(problem)
            if key_of(candidate) in insert([candidate]):
                return True
            problem = "the database left it out"
        except AWAY:
            raise
        except UNSTORABLE as error:
            problem = f"{type(error).__name__}: {error}"
        log.error("death %s cannot be stored as it is: %s", death.member, problem)
    log.critical("death %s stays in Redis: not even a placeholder can be stored", death.member)
    return False


def _ever_plainer(death: Death, letter: DeadLetter) -> Iterator[Callable[[str], DeadLetter]]:
    yield lambda problem: letter
    yield lambda problem: placeholder_of(death, problem)
    yield lambda problem: placeholder_of(death, problem, with_data=False)
