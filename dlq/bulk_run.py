"""Working a confirmed bulk action off, batch by batch, in any process: what one leaves, the next one takes up.

Letters, members and counters change in one transaction. Whoever is killed has done a batch whole or not at all.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from django.db import connection, transaction
from django.utils import timezone

from dlq.access import may_go_on
from dlq.bulk_records import record_bulk
from dlq.changing import SCHEDULER
from dlq.inserting import AWAY
from dlq.locking import lock_letters, with_tenants
from dlq.models import BulkAction, BulkMember, DeadLetter
from dlq.models import State as LetterState
from dlq.replaying import key_refusals
from dlq.services import discard_batch, replay_batch, undo_batch
from dlq.text import one_line
from jobops.audit.recording import request
from tenants.services import Actor

log = logging.getLogger(__name__)

BATCH = 200
MOST_REASONS = 50
OTHER_REASONS = "other reasons; each is told with its letter"
LETTER_GONE = "its dead letter was deleted meanwhile"
DISCARDED_ANEW = "it was discarded anew since"

Kind, State, Member = BulkAction.Kind, BulkAction.State, BulkMember.State
Batch = Callable[[Sequence[DeadLetter]], dict[int, str]]


def run_batch(bulk_id: int, size: int = BATCH) -> int:
    """Deal with the next members; answers how many, 0 when it does not run or another process is at it right now.

    The batch that leaves no member waiting finishes the action; once who confirmed it may not do it any more, it is
    cancelled, and nothing of the batch happens. Must not be called in a transaction.
    Raises what the database raises when it is away or busy; then nothing of the batch has happened.
    """
    wanted = _next(bulk_id, size)
    held = _keys_held(bulk_id, wanted)
    with transaction.atomic(durable=True):
        bulk = _take(bulk_id)
        if bulk is None:
            return 0
        waiting = bulk.members.filter(state=Member.WAITING, letter_id__in=wanted)
        members = {member.letter_id: member for member in waiting}
        letters = lock_letters(members)
        with request(bulk.request_id):
            may = may_go_on(bulk, letters)
            if not may:
                return _stop(bulk, may.reason)
            _mark(bulk, members, _deal_with(bulk, letters, held))
            if not bulk.members.filter(state=Member.WAITING).exists():
                _finish(bulk)
        bulk.save(update_fields=["done", "skipped", "skipped_for", "state", "ended_at"])
    return len(members)


def actor_of(bulk: BulkAction) -> Actor:
    """Who does it: the person who confirmed it, or the command."""
    return bulk.by_user or bulk.by


def _next(bulk_id: int, size: int) -> list[int]:
    waiting = BulkMember.objects.filter(bulk=bulk_id, bulk__state=State.RUNNING, state=Member.WAITING)
    return list(waiting.order_by("pk").values_list("letter_id", flat=True)[:size])


def _keys_held(bulk_id: int, letter_ids: Sequence[int]) -> Mapping[int, str]:
    # Before the transaction: a Redis that answers late must not hold up everybody who writes.
    if not BulkAction.objects.filter(pk=bulk_id, kind=Kind.REPLAY).exists():
        return {}
    keyed = DeadLetter.objects.filter(pk__in=letter_ids).exclude(key="").only("job_type", "key", "tenant")
    return key_refusals(with_tenants(list(keyed)))


def _take(bulk_id: int) -> BulkAction | None:
    """The action, if it runs and nobody else is at it."""
    actions = BulkAction.objects.filter(pk=bulk_id, state=State.RUNNING)
    skips = connection.features.has_select_for_update_skip_locked
    return actions.select_for_update(no_key=True, skip_locked=skips).first()


def _deal_with(bulk: BulkAction, letters: Sequence[DeadLetter], held: Mapping[int, str]) -> dict[int, str]:
    """Letter id → "" (done) or why it was skipped."""
    by = actor_of(bulk)
    batches: dict[str, Batch] = {
        Kind.REPLAY: lambda some: replay_batch(some, by, bulk, held, from_start=bulk.from_start),
        Kind.DISCARD: lambda some: discard_batch(some, by, bulk.reason, bulk),
        Kind.UNDO: lambda some: undo_batch(some, by),
    }
    anew = _discarded_anew(bulk, letters)
    return anew | _carefully(batches[bulk.kind], [letter for letter in letters if letter.pk not in anew])


def _discarded_anew(bulk: BulkAction, letters: Sequence[DeadLetter]) -> dict[int, str]:
    """Of an undone discard, those letters that somebody opened and discarded once more, for a reason of their own."""
    if bulk.undoes_id is None:
        return {}
    closed = [letter for letter in letters if letter.state == LetterState.DISCARDED]
    return {letter.pk: DISCARDED_ANEW for letter in closed if letter.discarded_in_id != bulk.undoes_id}


def _carefully(batch: Batch, letters: Sequence[DeadLetter]) -> dict[int, str]:
    """The batch at once; should that fail, letter by letter, so that one that cannot be done stops no other."""
    try:
        with transaction.atomic():
            return batch(letters)
    except Exception as error:
        if not _is_of_the_letter(error):
            raise
        log.exception("a batch of %d letters failed; they are tried one by one", len(letters))
    outcome: dict[int, str] = {}
    # As they are in the database: the attempt may have changed the objects.
    for letter in lock_letters(letter.pk for letter in letters):
        try:
            with transaction.atomic():
                outcome |= batch([letter])
        except Exception as error:
            if not _is_of_the_letter(error):
                raise
            log.exception("letter %s is skipped", letter.pk)
            outcome[letter.pk] = f"it failed: {type(error).__name__}"
    return outcome


def _is_of_the_letter(error: Exception) -> bool:
    """Whether another letter may do better. While the database is away or busy none does, and the batch waits."""
    return not isinstance(error, AWAY)


def _mark(bulk: BulkAction, members: Mapping[int, BulkMember], outcome: Mapping[int, str]) -> None:
    """Write what became of each member, and count it."""
    done = [member.pk for letter_id, member in members.items() if outcome.get(letter_id) == ""]
    skipped = []
    for letter_id, member in members.items():
        why = outcome.get(letter_id, LETTER_GONE)
        if why:
            member.state, member.why = Member.SKIPPED, one_line(why, 200)
            skipped.append(member)
            _count(bulk, member.why)
    BulkMember.objects.filter(pk__in=done).update(state=Member.DONE)
    BulkMember.objects.bulk_update(skipped, ["state", "why"])
    bulk.done += len(done)


def _count(bulk: BulkAction, why: str, number: int = 1) -> None:
    reasons = bulk.skipped_for
    if why not in reasons and len(reasons) >= MOST_REASONS:
        why = OTHER_REASONS
    reasons[why] = reasons.get(why, 0) + number
    bulk.skipped += number


def _stop(bulk: BulkAction, why: str) -> int:
    """Cancel it by itself; answers 0, the letters that were dealt with."""
    bulk.state, bulk.ended_at = State.CANCELLED, timezone.now()
    bulk.save(update_fields=["state", "ended_at"])
    record_bulk(SCHEDULER, "cancel", bulk, before={"state": State.RUNNING}, reason=why)
    log.warning("bulk action %s is cancelled: %s", bulk.pk, why)
    return 0


def _finish(bulk: BulkAction) -> None:
    # A member goes with its letter; what was chosen is still told in full.
    gone = bulk.matched - bulk.done - bulk.skipped
    if gone > 0:
        _count(bulk, LETTER_GONE, gone)
    bulk.state, bulk.ended_at = State.FINISHED, timezone.now()
    record_bulk(actor_of(bulk), "finish", bulk, before={"state": State.RUNNING})
