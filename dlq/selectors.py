"""Reading dead letters for pages and commands; every query is scoped by ``dlq.access`` or by given tenants."""

from collections.abc import Iterable

from django.db.models import Count, Q
from django.utils import timezone

from dlq.models import UNDRAINED, DeadLetter
from tenants.models import Tenant


def open_counts(tenant_ids: Iterable[int] | None = None) -> dict[int, int]:
    """Tenant id → its undrained letters, in one query; tenants without any are not in it. None: all tenants."""
    letters = DeadLetter.objects.filter(state__in=UNDRAINED, tenant_id__isnull=False)
    if tenant_ids is not None:
        letters = letters.filter(tenant_id__in=list(tenant_ids))
    rows = letters.order_by().values_list("tenant_id").annotate(count=Count("pk"))
    return {tenant_id: count for tenant_id, count in rows if tenant_id is not None}


def open_totals(tenant_ids: Iterable[int] | None = None) -> dict[str, int]:
    """``open`` (undrained) and ``overdue`` letters of these tenants, in one query. None: all letters there are."""
    letters = DeadLetter.objects.filter(state__in=UNDRAINED)
    if tenant_ids is not None:
        letters = letters.filter(tenant_id__in=list(tenant_ids))
    return letters.aggregate(open=Count("pk"), overdue=Count("pk", filter=Q(due_at__lte=timezone.now())))


def undrained_count(tenant: Tenant) -> int:
    """The tenant's letters that somebody still has to deal with."""
    return DeadLetter.objects.filter(tenant=tenant, state__in=UNDRAINED).count()


def letter_of_job(job_id: str) -> DeadLetter | None:
    """The newest letter of this job, if it died, or the one that it is a replay of. For those who may see the job."""
    own = DeadLetter.objects.filter(job_id=job_id).order_by("-attempt").first()
    return own or DeadLetter.objects.filter(runs__job_id=job_id).first()
