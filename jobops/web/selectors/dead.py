"""Dead letters as the pages count and list them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from dlq.access import letters_visible_to
from dlq.models import UNDRAINED, DeadLetter, ReplayRun
from jobops.web.selectors.letter_rows import LONG_TEXTS
from tenants.access import AnyUser
from tenants.models import Tenant

NEWEST = 10


@dataclass(frozen=True, slots=True)
class DeadCounts:
    """Undrained letters, and those of them whose deadline has passed."""

    open: int = 0
    overdue: int = 0


@dataclass(frozen=True, slots=True)
class DeadSummary:
    """All that a person may see: the sums, and which deadline comes next (of how many with that owner)."""

    open: int = 0
    overdue: int = 0
    next_due_at: datetime | None = None
    next_owner: str = ""
    by_tenant: Mapping[int | None, DeadCounts] | None = None

    def of(self, tenant_id: int | None) -> DeadCounts:
        """The counts of one tenant."""
        return (self.by_tenant or {}).get(tenant_id, DeadCounts())


def undrained(user: AnyUser) -> QuerySet[DeadLetter]:
    """The letters somebody still has to deal with, among those this person may see."""
    return letters_visible_to(user).filter(state__in=UNDRAINED)


def dead_summary(letters: QuerySet[DeadLetter]) -> DeadSummary:
    """Sums over these undrained letters; three queries, whatever their number, each answered from an index."""
    now = timezone.now()
    rows = letters.order_by().values("tenant_id").annotate(n=Count("pk"), late=Count("pk", filter=Q(due_at__lte=now)))
    by_tenant: dict[int | None, DeadCounts] = {row["tenant_id"]: DeadCounts(row["n"], row["late"]) for row in rows}
    coming = letters.filter(due_at__gt=now).order_by("due_at").values("due_at", "owner")
    # State by state, as the index begins with it: of both at once all that is not late would be sorted.
    first = [row for state in UNDRAINED if (row := coming.filter(state=state).first()) is not None]
    following = min(first, key=lambda row: row["due_at"], default=None)
    return DeadSummary(
        open=sum(counts.open for counts in by_tenant.values()),
        overdue=sum(counts.overdue for counts in by_tenant.values()),
        next_due_at=following["due_at"] if following else None,
        next_owner=following["owner"] if following else "",
        by_tenant=by_tenant,
    )


def newest_letters(tenant: Tenant, limit: int = NEWEST) -> list[DeadLetter]:
    """The tenant's newest undrained letters, without their long texts."""
    letters = DeadLetter.objects.filter(tenant=tenant).order_by("-dead_at", "-id").defer(*LONG_TEXTS)
    # State by state, as the index begins with it: of both at once all would be sorted.
    found = [letter for state in UNDRAINED for letter in letters.filter(state=state)[:limit]]
    return sorted(found, key=lambda letter: (letter.dead_at, letter.pk), reverse=True)[:limit]


def letter_of_job(user: AnyUser, job_id: str) -> DeadLetter | None:
    """The newest letter of this job, if this person may see it."""
    return letters_visible_to(user).filter(job_id=job_id).order_by("-attempt").first()


def run_of_job(user: AnyUser, job_id: str) -> ReplayRun | None:
    """The replay whose job this is, with its letter, if this person may see that."""
    runs = ReplayRun.objects.filter(job_id=job_id, letter__in=letters_visible_to(user))
    return runs.select_related("letter").first()
