"""What can be done to a bulk action: draft, confirm, cancel, undo. Pages, commands and the API call these.

A draft's members are fixed when it is made; ``dlq.bulk_run`` deals with them once it is confirmed. Callers ask
``dlq.access`` before: services do not know who may do what.
"""

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from dlq.bulk_members import TICKED, fix_members, fix_undone
from dlq.bulk_records import record_bulk
from dlq.errors import InvalidAction, WrongBulkState
from dlq.models import BulkAction, BulkMember, DeadLetter
from dlq.models import State as LetterState
from dlq.replay_guard import choose_canary
from dlq.replay_plan import PlanOptions, newest_letter, plan_draft, plan_of, plan_write, told_of
from dlq.retention import kept_since
from dlq.services import clean_reason
from dlq.text import one_line
from jobops.audit.recording import current_request_id
from tenants.services import Actor, actor_name

__all__ = ["TICKED", "bulk_cancel", "bulk_confirm", "bulk_draft", "bulk_locked", "bulk_standing", "bulk_undo"]

Kind, State = BulkAction.Kind, BulkAction.State


def bulk_draft(
    *,
    kind: str,
    letters: QuerySet[DeadLetter],
    by: Actor,
    chosen: str,
    reason: str = "",
    only_tenants: Collection[int] | None = None,
    plan: PlanOptions | None = None,
) -> BulkAction:
    """Fix which letters a replay, discard or undo is about; nothing happens to them before it is confirmed.

    So a draft is no change, and in no audit.
    ``chosen`` says how they were: a filter's query string, or ``TICKED``. ``only_tenants``: ids of those where this
    person may do it (None: all); letters of others are members that are skipped from the start. ``plan``: how a replay
    is to run (None: the safe defaults); it may be chosen anew when it is confirmed.
    Raises ``InvalidAction`` for no letter at all, an unknown kind, a reason or a plan that is none.
    """
    if kind not in Kind.values:
        raise InvalidAction("kind", f"{kind!r} must be one of {', '.join(Kind.values)}")
    _check_plan(kind, plan)
    with transaction.atomic():
        bulk = _new(kind, by, one_line(chosen, 500))
        bulk.reason = _given(reason)
        newest = newest_letter()
        fix_members(bulk, letters, only_tenants)
        if kind == Kind.REPLAY:
            plan_draft(bulk, plan, newest)
        if not bulk.matched:
            raise InvalidAction("letters", "none was chosen, or none is there any more")
        bulk.save()
    return bulk


def bulk_confirm(
    *, bulk_id: int, by: Actor, reason: str = "", from_start: bool = False, plan: PlanOptions | None = None
) -> BulkAction:
    """Let the draft run; ``reason`` replaces the one of the draft, and a discard needs one.

    ``from_start``: what it replays begins anew, and does not resume from the letters' checkpoints. ``plan``: how a
    replay runs; None: as its draft says.
    Raises ``InvalidAction``, ``WrongBulkState`` (it runs already, or is over), ``BulkAction.DoesNotExist``.
    """
    with transaction.atomic():
        bulk = bulk_locked(bulk_id)
        if bulk.state != State.DRAFT:
            raise WrongBulkState(bulk.pk, bulk.state, bulk_standing(bulk))
        bulk.reason = _given(reason) or bulk.reason
        if bulk.kind == Kind.DISCARD:
            clean_reason(bulk.reason)
        if from_start and bulk.kind != Kind.REPLAY:
            raise InvalidAction("from_start", "only a replay can begin anew")
        _check_plan(bulk.kind, plan)
        bulk.from_start = from_start
        _start(bulk, by, plan)
    return bulk


def bulk_cancel(*, bulk_id: int, by: Actor) -> BulkAction:
    """Throw a draft away, or stop one that runs: what is done stays done, the other letters stay as they are.

    Raises ``WrongBulkState`` when it is over, ``BulkAction.DoesNotExist``.
    """
    with transaction.atomic():
        # Waits for the batch that is at work: no letter changes after the answer.
        bulk = bulk_locked(bulk_id)
        if bulk.state not in (State.DRAFT, State.RUNNING, State.PAUSED):
            raise WrongBulkState(bulk.pk, bulk.state, bulk_standing(bulk))
        before, bulk.state, bulk.ended_at = bulk.state, State.CANCELLED, timezone.now()
        bulk.save(update_fields=["state", "ended_at"])
        if before != State.DRAFT:
            record_bulk(by, "cancel", bulk, before={"state": before})
    return bulk


def bulk_undo(*, bulk_id: int, by: Actor) -> BulkAction:
    """Open again what this discard closed; answers the undo, which runs. Whatever was discarded anew since stays so.

    Raises ``InvalidAction`` for what is no discard or has nothing to open, ``WrongBulkState`` while it runs or when it
    was undone before, ``BulkAction.DoesNotExist``.
    """
    with transaction.atomic():
        discard = bulk_locked(bulk_id)
        if discard.kind != Kind.DISCARD:
            raise InvalidAction("kind", "only a discard can be undone")
        if discard.state in (State.DRAFT, State.RUNNING):
            raise WrongBulkState(discard.pk, discard.state, f"{bulk_standing(discard)}; stop it or wait for its end")
        earlier = BulkAction.objects.filter(undoes=discard).exclude(state=State.CANCELLED).first()
        if earlier is not None:
            raise WrongBulkState(discard.pk, discard.state, f"{earlier.by} has undone it already")
        bulk = _new(Kind.UNDO, by, f"discard {discard.pk}", undoes=discard)
        fix_undone(bulk, discard)
        if not bulk.matched:
            raise InvalidAction("letters", "it discarded nothing")
        if not _undoable(bulk, discard).exists():
            raise InvalidAction("letters", "nothing that it discarded can be opened again any more")
        _start(bulk, by)
    return bulk


def _new(kind: str, by: Actor, chosen: str, undoes: BulkAction | None = None) -> BulkAction:
    user = by if isinstance(by, User) else None
    return BulkAction.objects.create(
        kind=kind, by=actor_name(by), by_user=user, chosen=chosen, undoes=undoes, request_id=current_request_id()
    )


def _check_plan(kind: str, plan: PlanOptions | None) -> None:
    if plan is not None and kind != Kind.REPLAY:
        raise InvalidAction("plan", "only a replay has one")


def _start(bulk: BulkAction, by: Actor, options: PlanOptions | None = None) -> None:
    before, bulk.state, bulk.started_at = bulk.state, State.RUNNING, timezone.now()
    # Who confirms does it; most often, that is who chose.
    bulk.by, bulk.by_user = actor_name(by), by if isinstance(by, User) else None
    bulk.request_id = current_request_id() or bulk.request_id
    bulk.save()
    told = {}
    if bulk.kind == Kind.REPLAY:
        plan = plan_of(bulk) if options is None else plan_write(bulk, options)
        if plan is not None:
            choose_canary(bulk, plan.canary)
            told = told_of(plan)
    record_bulk(by, "confirm", bulk, before={"state": before}, after=told)


def bulk_locked(bulk_id: int) -> BulkAction:
    """The bulk action, for nobody else to change until the transaction ends; a batch of it that is at work has ended.

    Raises ``BulkAction.DoesNotExist``.
    """
    return BulkAction.objects.select_for_update(no_key=True).get(pk=bulk_id)


def _undoable(undo: BulkAction, discard: BulkAction) -> QuerySet[BulkMember]:
    """The members that are discarded still, by this discard, and not for too long."""
    closed = undo.members.filter(letter__state=LetterState.DISCARDED, letter__discarded_in=discard)
    return closed.filter(letter__drained_at__gte=kept_since())


def _given(reason: str) -> str:
    """The reason as it is stored; empty for none. Raises ``InvalidAction`` for one that is too long."""
    return clean_reason(reason) if reason.strip() else ""


def bulk_standing(bulk: BulkAction) -> str:
    """Where it stands, in words that follow a colon."""
    return {
        State.DRAFT: "it is not confirmed yet",
        State.RUNNING: "it is running already",
        State.PAUSED: "it is paused",
        State.FINISHED: "it is finished",
        State.CANCELLED: "it was cancelled",
    }[State(bulk.state)]
