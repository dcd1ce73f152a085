"""Taking deaths from Redis into the database: at least once into the table, exactly once as a letter.

A batch is read, stored in one transaction, and then removed from Redis member by member, exactly what is stored.
Whoever dies in between leaves deaths that the next one stores again as a no-op; two at once are as right as one.
"""

import logging
from collections.abc import Callable, Iterator, Sequence

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

from dlq.letters import letter_of, placeholder_of
from dlq.models import DeadLetter
from jobops.engine.client import Engine
from jobops.engine.records import Death
from tenants.models import Tenant
from tenants.policy import belongs

log = logging.getLogger(__name__)

# The database is away, full or locked: nothing is wrong with the letter, so it waits.
AWAY = (OperationalError, InterfaceError)
# The database does not want this row.
UNSTORABLE = (DatabaseError, ValueError, TypeError, OverflowError)


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
    letters = []
    for death in deaths:
        try:
            letters.append(letter_of(death))
        except Exception as error:  # whatever one record holds, the others must not wait for it
            log.exception("death %s cannot be read; a placeholder takes its place", death.member)
            letters.append(placeholder_of(death, type(error).__name__))
    try:
        held = _insert(letters)
    except AWAY:
        raise
    except UNSTORABLE as error:
        log.warning("a batch of %d deaths cannot be stored at once (%s); storing them singly", len(deaths), error)
        held = set()
    missing = [(death, letter) for death, letter in zip(deaths, letters, strict=True) if _key(letter) not in held]
    lost = {death.member for death, letter in missing if not _store_one(death, letter)}
    return [death.member for death in deaths if death.member not in lost]


def _store_one(death: Death, letter: DeadLetter) -> bool:
    """Store one letter or, failing that, a placeholder; answers False if the database takes neither."""
    problem = ""
    for make in _ever_plainer(death, letter):
        try:
            candidate = make(problem)
            if _key(candidate) in _insert([candidate]):
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


def _insert(letters: list[DeadLetter]) -> set[tuple[str, int]]:
    """Insert what is not there yet, in one transaction; answers which of them the table holds now."""
    with transaction.atomic(durable=True):
        slugs = {letter.tenant_slug for letter in letters}
        # A tenant deleted between this look and the commit fails the batch; the second look, singly, misses it.
        tenants = {tenant.slug: tenant for tenant in Tenant.objects.filter(slug__in=slugs).only("pk", "slug")}
        for letter in letters:
            tenant = tenants.get(letter.tenant_slug)
            letter.tenant_id = tenant.pk if tenant is not None and belongs(letter.tenant_uid, tenant) else None
        DeadLetter.objects.bulk_create(letters, ignore_conflicts=True)
        # Looked up, not assumed: where a conflict is ignored, SQLite leaves out also what breaks another constraint.
        ids = [letter.job_id for letter in letters]
        return set(DeadLetter.objects.filter(job_id__in=ids).values_list("job_id", "attempt"))


def _key(letter: DeadLetter) -> tuple[str, int]:
    return letter.job_id, letter.attempt
