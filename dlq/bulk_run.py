"""Working a confirmed bulk action off, batch by batch, in any process: what one leaves, the next one takes up.

Letters, members and counters change in one transaction. Whoever is killed has done a batch whole or not at all.
"""

from collections.abc import Sequence

from django.db import transaction

from dlq.access import may_go_on
from dlq.bulk_batch import (
    WRITTEN,
    actor_of,
    carefully,
    finish_if_over,
    mark,
    stop,
    take,
    waiting_members,
)
from dlq.locking import lock_letters
from dlq.models import BulkAction, BulkMember, DeadLetter
from dlq.models import State as LetterState
from dlq.replay_run import replay_batches
from dlq.services import discard_batch, undo_batch
from jobops.audit.recording import request

BATCH = 200
REPLAY_BATCH = 2_000
"""Its transaction is short: the jobs are made before it and pushed after it."""
DISCARDED_ANEW = "it was discarded anew since"

Kind, State, Member = BulkAction.Kind, BulkAction.State, BulkMember.State


def run_batch(bulk_id: int, size: int = 0) -> int:
    """Deal with the next members, ``size`` at most (0: as many as are good for one batch).

    Answers how many, 0 when there is nothing to do at present: it does not run, must wait (for its canary, its rate,
    …), or another process is at it right now.

    The batch that leaves no member waiting finishes the action; once who confirmed it may not do it any more, it is
    cancelled, and nothing of the batch happens. Must not be called in a transaction.
    Raises what the database raises when it is away or busy; then nothing of the batch has happened.
    """
    kind = BulkAction.objects.filter(pk=bulk_id, state=State.RUNNING).values_list("kind", flat=True).first()
    if kind is None:
        return 0
    return replay_batches(bulk_id, size or REPLAY_BATCH) if kind == Kind.REPLAY else _batch(bulk_id, size or BATCH)


def _batch(bulk_id: int, size: int) -> int:
    """A batch of a discard, or of the undo of one."""
    waiting = BulkMember.objects.filter(bulk=bulk_id, state=Member.WAITING)
    wanted = list(waiting.order_by("pk").values_list("letter_id", flat=True)[:size])
    with transaction.atomic(durable=True):
        bulk = take(bulk_id)
        if bulk is None:
            return 0
        members = waiting_members(bulk, wanted)
        letters = lock_letters(members)
        with request(bulk.request_id):
            may = may_go_on(bulk, letters)
            if not may:
                return stop(bulk, may.reason)
            mark(bulk, members, _deal_with(bulk, letters))
            finish_if_over(bulk)
        bulk.save(update_fields=WRITTEN)
    return len(members)


def _deal_with(bulk: BulkAction, letters: Sequence[DeadLetter]) -> dict[int, str]:
    """Letter id → "" (done) or why it was skipped."""
    by = actor_of(bulk)
    if bulk.kind == Kind.DISCARD:
        return carefully(lambda some: discard_batch(some, by, bulk.reason, bulk), letters)
    anew = _discarded_anew(bulk, letters)
    return anew | carefully(lambda some: undo_batch(some, by), [each for each in letters if each.pk not in anew])


def _discarded_anew(bulk: BulkAction, letters: Sequence[DeadLetter]) -> dict[int, str]:
    """Of an undone discard, those letters that somebody opened and discarded once more, for a reason of their own."""
    if bulk.undoes_id is None:
        return {}
    closed = [letter for letter in letters if letter.state == LetterState.DISCARDED]
    return {letter.pk: DISCARDED_ANEW for letter in closed if letter.discarded_in_id != bulk.undoes_id}
