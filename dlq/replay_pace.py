"""How many jobs of a replay may be sent now: not before its time, no faster than its rate, no more at once than it may.

A token bucket in the plan's row, which one process at a time has: however many schedulers there are, the rate is one.
"""

from datetime import datetime

from django.utils import timezone

from dlq.models import BulkAction, BulkMember, ReplayPlan, ReplayRun

BURST_S = 1.0
"""What may be sent at once after a pause of the scheduler: so many seconds' worth, and one at least."""


def rate_of(bulk: BulkAction, plan: ReplayPlan) -> float | None:
    """Starts a second; None: as fast as it goes."""
    if plan.spread_s:
        return max(bulk.matched / plan.spread_s, 1e-6)
    return plan.rate


def allowance(bulk: BulkAction, plan: ReplayPlan, now: datetime) -> int | None:
    """How many may be sent at ``now``; None: any number. Brings the plan's credit up to date."""
    if plan.start_at is not None and now < plan.start_at:
        return 0
    at_most: list[int] = []
    rate = rate_of(bulk, plan)
    if rate is not None:
        most = max(1.0, rate * BURST_S)
        # A clock that was set back gives nothing.
        gained = max(0.0, (now - plan.credit_at).total_seconds()) * rate if plan.credit_at is not None else most
        plan.credit, plan.credit_at = min(most, plan.credit + gained), now
        at_most.append(int(plan.credit + 1e-9))
    if plan.in_flight is not None:
        at_most.append(max(0, plan.in_flight - _running(bulk)))
    return min(at_most, default=None)


def spend(plan: ReplayPlan, sent: int) -> None:
    """Write that so many were sent."""
    if plan.credit_at is not None:
        plan.credit = max(0.0, plan.credit - sent)
        plan.save(update_fields=["credit", "credit_at"])


def holds_back(bulk: BulkAction, plan: ReplayPlan | None) -> str:
    """What keeps members waiting that could go otherwise, as of the rows in hand: ``start``, ``canary``, ``rate``,
    ``in_flight``, ``order`` (those before them with the same key), or empty."""
    if plan is None or bulk.state != BulkAction.State.RUNNING:
        return ""
    if plan.start_at is not None and timezone.now() < plan.start_at:
        return "start"
    if plan.phase == ReplayPlan.Phase.CANARY:
        return "canary"
    if plan.in_flight is not None and _running(bulk) >= plan.in_flight:
        return "in_flight"
    if rate_of(bulk, plan) is not None:
        return "rate"
    keyed = bulk.members.filter(state=BulkMember.State.WAITING).exclude(letter__key="")
    return "order" if plan.in_order and keyed.exists() else ""


def _running(bulk: BulkAction) -> int:
    return ReplayRun.objects.filter(bulk=bulk, state=ReplayRun.State.RUNNING).count()
