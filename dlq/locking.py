"""Taking letters and groups for a change: always in the order of their ids, so that no two wait for each other."""

from collections import deque
from collections.abc import Iterable, Sequence

from django.db.models import prefetch_related_objects

from dlq.models import DeadLetter, DeadLetterGroup
from tenants.models import Tenant


def lock_letters(letter_ids: Iterable[int]) -> list[DeadLetter]:
    """The letters of these ids as they are now, by id, until the transaction ends for nobody else to change.

    Must be called in a transaction. (On SQLite that alone keeps all other writers away.)
    """
    # No key of theirs ever changes: whoever only refers to them need not wait.
    locked = DeadLetter.objects.select_for_update(no_key=True)
    return list(locked.filter(pk__in=list(letter_ids)).order_by("pk"))


def lock_groups(group_ids: Iterable[int]) -> list[DeadLetterGroup]:
    """The groups of these ids as they are now, by id, until the transaction ends for nobody else to change.

    Must be called in a transaction, after its letters and as late as it can be: many change the same few groups.
    """
    locked = DeadLetterGroup.objects.select_for_update(no_key=True)
    return list(locked.filter(pk__in=list(group_ids)).order_by("pk"))


def lock_all_of(tenant: Tenant) -> None:
    """Take all letters of this tenant until the transaction ends, as everybody does who changes some of them: whoever
    has one already gets through first, with its group and the tenant's share of that."""
    letters = DeadLetter.objects.filter(tenant=tenant.pk).order_by("pk").values_list("pk", flat=True)
    deque(letters.select_for_update(no_key=True).iterator(), maxlen=0)


def with_tenants(letters: Sequence[DeadLetter]) -> Sequence[DeadLetter]:
    """The same letters, their tenants read in one query."""
    prefetch_related_objects(letters, "tenant")
    return letters
