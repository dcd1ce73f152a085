"""New letters into the table, with their search texts: what is there already is left as it is."""

import logging
from collections.abc import Sequence
from typing import NamedTuple

from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from dlq.models import DeadLetter, SearchText
from dlq.rows import insert_rows
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


class _SearchRow(NamedTuple):
    """A ``SearchText`` without what makes a model's object dear."""

    letter_id: int
    text: str


def key_of(letter: DeadLetter) -> Key:
    """What tells a death from every other."""
    return letter.job_id, letter.attempt


def insert(letters: Sequence[DeadLetter]) -> set[Key]:
    """Insert what is not there yet, in one transaction; answers which of them the table holds now.

    Must not run inside a transaction.
    """
    texts = {key_of(letter): _search_text(letter) for letter in letters}
    with transaction.atomic(durable=True):
        slugs = {letter.tenant_slug for letter in letters}
        # A tenant deleted between this look and the commit fails the batch; the second look, singly, misses it.
        tenants = {tenant.slug: tenant for tenant in Tenant.objects.filter(slug__in=slugs).only("pk", "slug")}
        for letter in letters:
            tenant = tenants.get(letter.tenant_slug)
            letter.tenant_id = tenant.pk if tenant is not None and belongs(letter.tenant_uid, tenant) else None
        insert_rows(DeadLetter, letters)
        # Looked up, not assumed: what was there already is as good as stored.
        ids = [letter.job_id for letter in letters]
        held = {
            (job_id, attempt): pk
            for pk, job_id, attempt in DeadLetter.objects.filter(job_id__in=ids).values_list("pk", "job_id", "attempt")
        }
        rows = [_SearchRow(pk, texts[key]) for key, pk in held.items() if key in texts]
        insert_rows(SearchText, rows)
    return set(held)


def _search_text(letter: DeadLetter) -> str:
    """A letter that cannot be found by its words is still a letter."""
    try:
        return search_text(letter)
    except Exception:  # whatever its arguments hold
        log.exception("the death of job %s cannot be searched for by its words", letter.job_id)
        return letter.job_id.lower()
