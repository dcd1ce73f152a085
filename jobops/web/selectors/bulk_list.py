"""The list of bulk actions, the newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q

from dlq.access import bulks_visible_to
from dlq.bulk_progress import progress_of
from dlq.models import BulkAction, ReplayPlan
from jobops.web.paging import Slice, slice_by_id
from tenants.access import AnyUser, sees_all


@dataclass(frozen=True, slots=True)
class BulkLine:
    """A row. ``goes_on``: some of the jobs that it sent have not ended; ``died``: how many of them died again.
    ``plan``: how it runs, of a replay that has one."""

    bulk: BulkAction
    goes_on: bool
    plan: ReplayPlan | None = None
    died: int = 0


@dataclass(frozen=True, slots=True)
class BulkList:
    """One page of bulk actions."""

    staff: bool
    slice: Slice[BulkAction]
    lines: Sequence[BulkLine]


def bulk_list(user: AnyUser, params: Mapping[str, str]) -> BulkList:
    """Those that exist for this person, in a constant number of queries; of drafts, which have changed nothing, only
    their own."""
    bulks = bulks_visible_to(user).filter(~Q(state=BulkAction.State.DRAFT) | Q(by_user=user.pk))
    found: Slice[BulkAction] = slice_by_id(bulks, params, {})
    plans = ReplayPlan.objects.in_bulk([bulk.pk for bulk in found.rows])
    at = progress_of(found.rows)
    lines = [BulkLine(bulk, at[bulk.pk].running > 0, plans.get(bulk.pk), at[bulk.pk].died) for bulk in found.rows]
    return BulkList(sees_all(user), found, lines)
