"""Everything that can happen to a letter, each through what really does it, without Redis."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from dlq.causes.checking import differences
from dlq.causes.counting import count_purged
from dlq.endings import Ending, settle
from dlq.inserting import insert
from dlq.locking import lock_letters
from dlq.models import DeadLetter, DeadLetterGroup, ReplayRun
from dlq.services import letter_discard, letter_replay, letter_undo
from tenants.models import Tenant
from tests.dlq.letters import unsaved

Run = ReplayRun.State


def take_in(tenant: Tenant | None, error: str, **fields: Any) -> DeadLetter:
    """A death that the intake stores."""
    letter = unsaved(tenant, error=error, **fields)
    letter.tenant_uid = str(tenant.pk) if tenant else ""
    insert([letter])
    return DeadLetter.objects.get(job_id=letter.job_id, attempt=letter.attempt)


def replay(letter: DeadLetter) -> None:
    letter_replay(letter_id=letter.pk, by="tests")


def end(letter: DeadLetter, state: str, error: str = "", attempt: int = 1) -> None:
    """The letter's newest replay ends like this; one that ``died`` with this error."""
    letter.refresh_from_db()
    now = timezone.now()
    told = unsaved(letter.tenant, error=error, dead_at=now) if state == Run.DIED else None
    with transaction.atomic():
        settle([Ending(letter.replay_job_id, ReplayRun.State(state), now, attempt=attempt, error_class="ValueError",
                       error=error, told=told)])  # fmt: skip


def discard(letter: DeadLetter) -> None:
    letter_discard(letter_id=letter.pk, by="tests", reason="not needed")


def undo(letter: DeadLetter) -> None:
    letter_undo(letter_id=letter.pk, by="tests")


def purge(letter: DeadLetter) -> None:
    """As retention deletes."""
    with transaction.atomic():
        locked = lock_letters([letter.pk])
        gone = [DeadLetter.objects.get(pk=each.pk) for each in locked]
        DeadLetter.objects.filter(pk__in=[each.pk for each in locked]).delete()
        count_purged(gone)


def group_of(letter: DeadLetter) -> DeadLetterGroup:
    """As it is now."""
    letter.refresh_from_db()
    return DeadLetterGroup.objects.get(pk=letter.group_id)


def wrong() -> list[str]:
    """What the check finds."""
    return [str(difference) for difference in differences()]
