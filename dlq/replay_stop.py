"""Pausing a replay whose row is locked: what a person, its canary and its breaker do alike."""

from django.utils import timezone

from dlq.bulk_records import record_bulk
from dlq.changing import SCHEDULER
from dlq.models import BulkAction, ReplayPlan
from tenants.services import Actor


def pause(bulk: BulkAction, plan: ReplayPlan, by: Actor, paused_by: str, why: str) -> None:
    """Send nothing more of it. ``paused_by``: as it is stored, a person or what stopped it by itself."""
    plan.paused_at, plan.paused_by, plan.paused_why = timezone.now(), paused_by, why
    plan.save()
    bulk.state = BulkAction.State.PAUSED
    bulk.save(update_fields=["state"])
    told = {"stopped_by": paused_by} if by == SCHEDULER else {}
    record_bulk(by, "pause", bulk, before={"state": BulkAction.State.RUNNING}, reason=why, after=told)
