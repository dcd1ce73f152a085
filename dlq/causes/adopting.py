"""Letters from before there were groups, or restored without: each gets its own, in batches, while all else goes on."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Count, QuerySet

from dlq.causes.counting import attach, count_adopted
from dlq.locking import lock_letters
from dlq.models import DeadLetter, ReplayRun
from dlq.rows import update_rows

BATCH = 500


def adopt(limit: int = BATCH) -> int:
    """Give at most so many letters without a group theirs, and count them; answers how many.

    Raises ``django.db.Error``. Two at once are as right as one: whoever locks a letter second finds that it has one.
    """
    ids = list(without_group().order_by("pk").values_list("pk", flat=True)[:limit])
    if not ids:
        return 0
    with transaction.atomic():
        letters = [letter for letter in lock_letters(ids) if letter.group_id is None]
        attach(letters)
        update_rows(DeadLetter, letters, ["group"])
        runs = ReplayRun.objects.filter(letter__in=[letter.pk for letter in letters], state=ReplayRun.State.DIED)
        count_adopted(letters, dict(runs.order_by().values_list("letter_id").annotate(died=Count("pk"))))
    return len(letters)


def without_group() -> QuerySet[DeadLetter]:
    """The letters that no group counts."""
    return DeadLetter.objects.filter(group__isnull=True)
