"""Pausing a replay, letting it go on, and changing its speed while it runs. Cancelling: ``dlq.bulk.bulk_cancel``.

Callers ask ``dlq.access.can_run`` before: services do not know who may do what.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from dlq.bulk import bulk_locked, bulk_standing
from dlq.bulk_records import record_bulk
from dlq.errors import InvalidAction, WrongBulkState
from dlq.models import BulkAction, ReplayPlan, ReplayRun
from dlq.replay_guard import CANARY, canary_anew
from dlq.replay_plan import AT_ONCE, faults_of, options_of, plan_of, plan_write
from dlq.replay_stop import pause
from dlq.text import one_line
from tenants.services import Actor, actor_name

State = BulkAction.State


def replay_pause(*, bulk_id: int, by: Actor, why: str = "") -> BulkAction:
    """Stop sending; what was sent runs on, the others wait. Whatever is at work has ended when this answers.

    Raises ``WrongBulkState`` (it does not run), ``InvalidAction`` (no replay), ``BulkAction.DoesNotExist``.
    """
    with transaction.atomic():
        bulk, plan = _locked(bulk_id, State.RUNNING)
        pause(bulk, plan, by, actor_name(by), one_line(why, 500))
    return bulk


def replay_resume(*, bulk_id: int, by: Actor) -> BulkAction:
    """Go on; of a replay that its canary stopped, with a fresh canary of the rest. Ends until now do not count for the
    breaker any more. Raises as ``replay_pause``, ``WrongBulkState`` unless it is paused.
    """
    with transaction.atomic():
        bulk, plan = _locked(bulk_id, State.PAUSED)
        before = {"state": bulk.state, "paused_by": plan.paused_by, "why": plan.paused_why}
        if plan.paused_by == CANARY:
            canary_anew(bulk, plan)
        plan.paused_at, plan.paused_by, plan.paused_why = None, "", ""
        plan.judged_from, plan.credit_at = _after_every_end(bulk), timezone.now()
        plan.credit = 0.0  # what it did not send meanwhile is not sent in one go now
        plan.save()
        bulk.state = State.RUNNING
        bulk.save(update_fields=["state"])
        record_bulk(by, "resume", bulk, before=before)
    return bulk


def replay_set_speed(*, bulk_id: int, by: Actor, rate: float | None, in_flight: int | None) -> BulkAction:
    """Change how fast it goes, from its next batch on: starts a second and most jobs at once; None: no limit.

    Raises ``InvalidAction``, ``WrongBulkState`` (it is over, or no more than a draft), ``BulkAction.DoesNotExist``.
    """
    with transaction.atomic():
        bulk, plan = _locked(bulk_id, State.RUNNING, State.PAUSED)
        before = {"rate": plan.rate, "in_flight": plan.in_flight, "spread_s": plan.spread_s}
        plan.rate, plan.in_flight, plan.spread_s = rate, in_flight, None
        for name, problem in faults_of(options_of(plan)).items():
            if name in ("rate", "in_flight"):
                raise InvalidAction(name, problem)
        plan.save()
        record_bulk(by, "speed", bulk, before=before, after={"rate": rate, "in_flight": in_flight, "spread_s": None})
    return bulk


def _after_every_end(bulk: BulkAction) -> datetime:
    """Now, or just after the newest end: Redis tells when that was, and its clock may be ahead."""
    newest = ReplayRun.objects.filter(bulk=bulk).aggregate(at=Max("ended_at"))["at"]
    now = timezone.now()
    return max(now, newest + timedelta(microseconds=1)) if newest is not None else now


def _locked(bulk_id: int, *states: BulkAction.State) -> tuple[BulkAction, ReplayPlan]:
    bulk = bulk_locked(bulk_id)
    if bulk.kind != BulkAction.Kind.REPLAY:
        raise InvalidAction("kind", "only a replay can be paused, or run faster or slower")
    if bulk.state not in states:
        raise WrongBulkState(bulk.pk, bulk.state, bulk_standing(bulk))
    return bulk, plan_of(bulk) or plan_write(bulk, AT_ONCE)
