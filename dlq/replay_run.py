"""A batch of a replay: what its canary and its breaker say, who comes next and how many, and the jobs of those.

The jobs are made before the transaction, so that it is short, and pushed after it (``dlq.replay_push``).
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.utils import timezone

from dlq.access import may_go_on
from dlq.bulk_batch import LETTER_GONE, WRITTEN, actor_of, carefully, finish_if_over, mark, stop, take, waiting_members
from dlq.bulk_records import record_bulk
from dlq.changing import SCHEDULER, why_refused
from dlq.models import BulkAction, BulkMember, DeadLetter, ReplayPlan
from dlq.replay_guard import GO, Verdict, breaker_verdict, canary_standing, canary_verdict, choose_canary
from dlq.replay_next import letters_of, next_members
from dlq.replay_pace import allowance, spend
from dlq.replay_plan import plan_of
from dlq.replay_push import push
from dlq.replay_send import send, unchanged
from dlq.replay_stop import pause
from dlq.replaying import jobs_of
from jobops.audit.recording import request
from jobops.engine.records import NewJob

log = logging.getLogger(__name__)

LEAST_LOOKED_AT = 20
"""So many members are looked at however few may be sent: those that are skipped cost none of it."""
TURNS = 5
"""A canary that is filled up or has passed lets the same call go on, and so do letters that somebody has just changed:
they are looked at anew."""

State, Phase = BulkAction.State, ReplayPlan.Phase


@dataclass(slots=True)
class _Batch:
    """``letters``: those that were looked at; ``jobs``: by letter id; ``refused``: why the others get none;
    ``gone``: ids of members' letters that are not there any more."""

    letters: list[DeadLetter] = field(default_factory=list)
    jobs: dict[int, NewJob] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    gone: Sequence[int] = ()


def replay_batches(bulk_id: int, size: int) -> int:
    """As ``dlq.bulk_run.run_batch``, of a replay."""
    for _ in range(TURNS):
        bulk = BulkAction.objects.filter(pk=bulk_id, state=State.RUNNING).first()
        if bulk is None:
            return 0
        plan = plan_of(bulk)
        if plan is not None and plan.start_at is not None and timezone.now() < plan.start_at:
            return 0
        verdict = canary_verdict(bulk, plan) if plan is not None else GO
        if verdict.act == "wait":
            return 0
        if verdict.act != "go":
            if not _conclude(bulk_id):
                return 0
            continue
        done = _go(bulk, plan, size)
        if done is not None:
            return done
    return 0


def _conclude(bulk_id: int) -> bool:
    """Do what the canary says, as it stands under the lock; answers whether the replay goes on."""
    with transaction.atomic(durable=True):
        bulk = take(bulk_id)
        plan = plan_of(bulk) if bulk is not None else None
        if bulk is None or plan is None:
            return False
        with request(bulk.request_id):
            return _follow(bulk, plan, canary_verdict(bulk, plan))


def _follow(bulk: BulkAction, plan: ReplayPlan, verdict: Verdict) -> bool:
    """Do what the verdict says, of a replay that is locked; answers whether it goes on."""
    match verdict.act:
        case "stop":
            pause(bulk, plan, SCHEDULER, verdict.by, verdict.why)
            log.warning("replay %s is stopped by its %s: %s", bulk.pk, verdict.by, verdict.why)
            return False
        case "more":
            choose_canary(bulk, verdict.more)
        case "passed":
            now, found = timezone.now(), canary_standing(bulk)
            plan.phase, plan.canary_passed_at, plan.judged_from = Phase.REST, now, now
            plan.credit, plan.credit_at = 0.0, now
            plan.save()
            # Not all but the canary: an earlier canary may have run before this one.
            rest = bulk.members.filter(state=BulkMember.State.WAITING).count()
            told = {"canary": found.total, "succeeded": found.succeeded, "failed": found.failed, "rest": rest}
            record_bulk(SCHEDULER, "canary", bulk, after=told)
    return True


def _go(bulk: BulkAction, plan: ReplayPlan | None, size: int) -> int | None:
    """Send what may go now; answers how many members were dealt with, None to look anew."""
    room = allowance(bulk, plan, timezone.now()) if plan is not None else None
    if room == 0:
        return 0
    looked_at = size if room is None else min(size, max(2 * room, LEAST_LOOKED_AT))
    batch = _made(bulk, plan, looked_at)
    if not (batch.letters or batch.gone) and bulk.members.filter(state=BulkMember.State.WAITING).exists():
        return 0  # they wait for others with their key
    with transaction.atomic(durable=True):
        taken = take(bulk.pk)
        if taken is None:
            return 0
        with request(taken.request_id):
            dealt_with, jobs = _deal_with(taken, batch)
    push(jobs)
    return dealt_with


def _made(bulk: BulkAction, plan: ReplayPlan | None, size: int) -> _Batch:
    """The next members, and their jobs."""
    found = next_members(bulk, plan, size)
    lane = plan.lane if plan is not None else ""
    batch = _Batch(found.letters, gone=found.gone)

    def make(letters: Sequence[DeadLetter]) -> None:
        jobs, refused = jobs_of(letters, found.held, from_start=bulk.from_start, lane=lane)
        batch.jobs |= jobs
        batch.refused |= {letter_id: why_refused(error) for letter_id, error in refused.items()}

    try:
        make(found.letters)
    except Exception:  # one that is odd stops no other
        log.exception("the jobs of %d letters are made one by one", len(found.letters))
        batch.jobs, batch.refused = {}, {}
        for letter in found.letters:
            try:
                make([letter])
            except Exception as error:
                log.exception("letter %s is skipped", letter.pk)
                batch.refused[letter.pk] = f"it failed: {type(error).__name__}"
    return batch


def _deal_with(bulk: BulkAction, batch: _Batch) -> tuple[int | None, list[NewJob]]:
    """The batch, of an action that is locked; answers how many members were dealt with (None: none, as they are not
    what they were when they were looked at), and the jobs to push."""
    plan = plan_of(bulk)
    if plan is not None:
        # Once more: another process may have sent the canary, or what the breaker judges may have ended.
        for verdict in (canary_verdict(bulk, plan), breaker_verdict(bulk, plan)):
            if verdict.act != "go":
                _follow(bulk, plan, verdict)
                return None, []
    members = waiting_members(bulk, [*(letter.pk for letter in batch.letters), *batch.gone])
    same = unchanged([letter for letter in batch.letters if letter.pk in members])
    letters = [letter for letter in batch.letters if letter.pk in same]
    may = may_go_on(bulk, letters)
    if not may:
        return stop(bulk, may.reason), []
    gone = [letter_id for letter_id in batch.gone if letter_id in members]
    if (
        batch.letters
        and not (letters or gone)
        and (members or bulk.members.filter(state=BulkMember.State.WAITING).exists())
    ):
        return None, []
    room = allowance(bulk, plan, timezone.now()) if plan is not None else None
    chosen = _as_many(letters, batch.jobs, room)
    outcome = dict.fromkeys(gone, LETTER_GONE)
    outcome |= {letter.pk: batch.refused[letter.pk] for letter in chosen if letter.pk not in batch.jobs}
    by = actor_of(bulk)

    def dispatch(some: Sequence[DeadLetter]) -> dict[int, str]:
        send(some, batch.jobs, by, bulk)
        return dict.fromkeys((letter.pk for letter in some), "")

    outcome |= carefully(dispatch, [letter for letter in chosen if letter.pk in batch.jobs], _read_anew)
    sent = [batch.jobs[letter_id] for letter_id, why in outcome.items() if not why]
    mark(bulk, {letter_id: members[letter_id] for letter_id in outcome}, outcome)
    if plan is not None:
        spend(plan, len(sent))
    finish_if_over(bulk)
    bulk.save(update_fields=WRITTEN)
    return len(outcome), sent


def _read_anew(ids: Sequence[int]) -> list[DeadLetter]:
    """Letters that are locked already, with what the counts need of them."""
    letters = letters_of(ids)
    same = unchanged(letters)
    return [letter for letter in letters if letter.pk in same]


def _as_many(letters: Sequence[DeadLetter], jobs: Mapping[int, NewJob], room: int | None) -> list[DeadLetter]:
    """The letters in their order, up to the one whose job would be one too many."""
    chosen, sent = [], 0
    for letter in letters:
        if letter.pk in jobs:
            if room is not None and sent >= room:
                break
            sent += 1
        chosen.append(letter)
    return chosen
