"""New letters into the table, with their groups and search texts: what is there already is left as it is."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

from dlq.causes.counting import attach, count_new
from dlq.causes.fingerprint import print_of
from dlq.models import DeadLetter, SearchText
from dlq.owners.deciding import decide
from dlq.payloads import Shown
from dlq.rows import insert_new, insert_rows
from dlq.searchable import search_text
from tenants.models import Tenant
from tenants.policy import belongs

log = logging.getLogger(__name__)

# The database is away, full or locked: nothing is wrong with the letter, so it waits.
AWAY = (OperationalError, InterfaceError)
# The database does not want this row.
UNSTORABLE = (DatabaseError, ValueError, TypeError, OverflowError)

Key = tuple[str, int]
"""A job's id and the attempt it died in."""

_IDENTITY = ("id", "job_id", "attempt")


class _SearchRow(NamedTuple):
    """A ``SearchText`` without what makes a model's object dear."""

    letter_id: int
    text: str


def key_of(letter: DeadLetter) -> Key:
    """What tells a death from every other."""
    return letter.job_id, letter.attempt


def insert(
    letters: Sequence[DeadLetter],
    *,
    decided: Callable[[Sequence[DeadLetter]], None] = lambda letters: None,
    beside: Callable[[Sequence[DeadLetter]], None] = lambda letters: None,
) -> set[Key]:
    """Insert what is not there yet, in one transaction; answers which of them the table holds now.

    Must not run inside a transaction. What is inserted has a group, which counts it, and an owner. Within the
    transaction, ``decided`` is called when owners are decided, and ``beside`` with those that were really inserted.
    """
    seen = [Shown(letter) for letter in letters]
    texts = {key_of(letter): _search_text(letter, shown) for letter, shown in zip(letters, seen, strict=True)}
    prints = [print_of(letter, shown) for letter, shown in zip(letters, seen, strict=True)]
    with transaction.atomic(durable=True):
        tenants = _tenants({letter.tenant_slug for letter in letters})
        for letter in letters:
            tenant = tenants.get(letter.tenant_slug)
            letter.tenant_id = tenant.pk if tenant is not None and belongs(letter.tenant_uid, tenant) else None
        attach(letters, prints)
        decide(letters)
        decided(letters)
        inserted = {(job_id, attempt): pk for pk, job_id, attempt in insert_new(DeadLetter, letters, _IDENTITY)}
        insert_rows(SearchText, [_SearchRow(pk, texts[key]) for key, pk in inserted.items()])
        new = _inserted(letters, inserted)
        beside(new)
        count_new(new)
        return inserted.keys() | _there_before(letters, inserted)


def _tenants(slugs: Collection[str]) -> dict[str, Tenant]:
    """Those that there are, by slug, for nobody to delete until the transaction ends: taken before all else.

    PostgreSQL would take them at the commit, when the groups are taken, too; whoever deletes a tenant has it then, and
    waits for what is the tenant's of those groups.
    """
    rows = Tenant.objects.filter(slug__in=slugs).only("pk", "slug").order_by("pk")
    if connection.vendor != "postgresql" or not slugs:
        return {tenant.slug: tenant for tenant in rows}
    sql, params = rows.query.sql_with_params()
    # As a foreign key does, so that whoever changes anything else of them need not wait.
    return {tenant.slug: tenant for tenant in Tenant.objects.raw(f"{sql} FOR KEY SHARE", params)}


def _inserted(letters: Sequence[DeadLetter], keys: Mapping[Key, int]) -> list[DeadLetter]:
    """Those that were inserted, each once, with their keys."""
    found: dict[Key, DeadLetter] = {}
    for letter in letters:
        key = key_of(letter)
        if key in keys:
            letter.pk = keys[key]
            found.setdefault(key, letter)
    return list(found.values())


def _there_before(letters: Sequence[DeadLetter], inserted: Mapping[Key, int]) -> set[Key]:
    """Of the others, those that the table holds. Looked up, not assumed: these are as good as stored."""
    ids = [letter.job_id for letter in letters if key_of(letter) not in inserted]
    return set(DeadLetter.objects.filter(job_id__in=ids).values_list("job_id", "attempt")) if ids else set()


def _search_text(letter: DeadLetter, shown: Shown) -> str:
    """A letter that cannot be found by its words is still a letter."""
    try:
        return search_text(letter, shown)
    except Exception:  # whatever its arguments hold
        log.exception("the death of job %s cannot be searched for by its words", letter.job_id)
        return letter.job_id.lower()
