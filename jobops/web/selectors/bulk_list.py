"""The list of bulk actions, the newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from dlq.access import bulks_visible_to
from dlq.models import BulkAction, ReplayPlan, ReplayRun
from jobops.web.paging import Slice, slice_by_id
from tenants.access import AnyUser, sees_all


@dataclass(frozen=True, slots=True)
class BulkLine:
    """A row. ``goes_on``: some of the jobs that it sent have not ended. ``plan``: how it runs, of a replay that has
    one."""

    bulk: BulkAction
    goes_on: bool
    plan: ReplayPlan | None = None


@dataclass(frozen=True, slots=True)
class BulkList:
    """One page of bulk actions."""

    staff: bool
    slice: Slice[BulkAction]
    lines: Sequence[BulkLine]


def bulk_list(user: AnyUser, params: Mapping[str, str]) -> BulkList:
    """Those that exist for this person, in a constant number of queries; of drafts, which have changed nothing, only
    their own."""
    on_the_way = ReplayRun.objects.filter(bulk=OuterRef("pk"), state=ReplayRun.State.RUNNING)
    bulks = bulks_visible_to(user).filter(~Q(state=BulkAction.State.DRAFT) | Q(by_user=user.pk))
    found: Slice[BulkAction] = slice_by_id(bulks, params, {})
    plans = ReplayPlan.objects.in_bulk([bulk.pk for bulk in found.rows])
    going = set(bulks.filter(Exists(on_the_way), pk__in=[bulk.pk for bulk in found.rows]).values_list("pk", flat=True))
    return BulkList(
        sees_all(user), found, [BulkLine(bulk, bulk.pk in going, plans.get(bulk.pk)) for bulk in found.rows]
    )
