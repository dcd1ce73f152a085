"""Taking letters for a change: always in the order of their ids, so that no two wait for each other."""

from collections.abc import Iterable, Sequence

from django.db.models import prefetch_related_objects

from dlq.models import DeadLetter


def lock_letters(letter_ids: Iterable[int]) -> list[DeadLetter]:
    """The letters of these ids as they are now, by id, until the transaction ends for nobody else to change.

    Must be called in a transaction. (On SQLite that alone keeps all other writers away.)
    """
    # No key of theirs ever changes: whoever only refers to them need not wait.
    locked = DeadLetter.objects.select_for_update(no_key=True)
    return list(locked.filter(pk__in=list(letter_ids)).order_by("pk"))


def with_tenants(letters: Sequence[DeadLetter]) -> Sequence[DeadLetter]:
    """The same letters, their tenants read in one query."""
    prefetch_related_objects(letters, "tenant")
    return letters
