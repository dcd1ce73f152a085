"""Which letters another replay may be about, after one: what died since it was fixed, and what died again in it."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from dlq.access import letters_visible_to
from dlq.bulk_members import TICKED
from dlq.bulk_progress import CAME_BACK, letters_since
from dlq.models import BulkAction, DeadLetter, ReplayRun, State
from tenants.access import AnyUser, sees_all, tenants_visible_to

NEW, DIED = "new", "died"
WHICH = (NEW, DIED)


def letters_of(user: AnyUser, bulk: BulkAction, which: str) -> QuerySet[DeadLetter]:
    """Those of ``WHICH`` that exist for this person and are open, in no order."""
    if which == NEW:
        return since_of(user, bulk)
    failed = (ReplayRun.State.DIED, *CAME_BACK)
    runs = ReplayRun.objects.filter(bulk=bulk, letter=OuterRef("pk"), state__in=failed)
    return letters_visible_to(user).filter(Exists(runs), state=State.OPEN)


def since_of(user: AnyUser, bulk: BulkAction) -> QuerySet[DeadLetter]:
    """What was chosen died since, too; of it what this person may see."""
    letters = letters_since(bulk)
    if letters is None:
        return DeadLetter.objects.none()
    return letters if sees_all(user) else letters.filter(tenant__in=tenants_visible_to(user))


def how_chosen(bulk: BulkAction, which: str) -> str:
    """What the new draft says of it: the filter goes on to mean what it meant."""
    return bulk.chosen if which == NEW else TICKED
