"""What every batch of a bulk action does: take the action, deal with its members carefully, count them, end it."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from django.db import connection, transaction
from django.utils import timezone

from dlq.among import Among
from dlq.bulk_records import record_bulk
from dlq.changing import SCHEDULER
from dlq.inserting import AWAY
from dlq.locking import lock_groups, lock_letters
from dlq.models import BulkAction, BulkMember, DeadLetter
from dlq.owners.turn import while_deciding
from dlq.rows import update_rows
from dlq.text import one_line
from tenants.services import Actor

log = logging.getLogger(__name__)

MOST_REASONS = 50
OTHER_REASONS = "other reasons; each is told with its letter"
LETTER_GONE = "its dead letter was deleted meanwhile"
WRITTEN = ("done", "skipped", "skipped_for", "state", "ended_at")
"""The fields of the action that a batch changes."""

State, Member = BulkAction.State, BulkMember.State
Batch = Callable[[Sequence[DeadLetter]], dict[int, str]]
Read = Callable[[Sequence[int]], Sequence[DeadLetter]]


def actor_of(bulk: BulkAction) -> Actor:
    """Who does it: the person who confirmed it, or the command."""
    return bulk.by_user or bulk.by


def take(bulk_id: int) -> BulkAction | None:
    """The action, if it runs and nobody else is at it."""
    actions = BulkAction.objects.filter(pk=bulk_id, state=State.RUNNING)
    skips = connection.features.has_select_for_update_skip_locked
    return actions.select_for_update(no_key=True, skip_locked=skips).first()


def waiting_members(bulk: BulkAction, letter_ids: Iterable[int]) -> dict[int, int]:
    """Letter id → its member's id, of those of these members that wait still."""
    waiting = bulk.members.filter(Among("letter_id", letter_ids), state=Member.WAITING).order_by("pk")
    return dict(waiting.values_list("letter_id", "pk"))


def carefully(batch: Batch, letters: Sequence[DeadLetter], read: Read = lock_letters) -> dict[int, str]:
    """The batch at once; should that fail, letter by letter, so that one that cannot be done stops no other. They are
    ``read`` anew for that, by their ids, as the attempt may have changed the objects."""
    try:
        with transaction.atomic():
            return batch(letters)
    except Exception as error:
        if not _is_of_the_letter(error):
            raise
        log.exception("a batch of %d letters failed; they are tried one by one", len(letters))
    outcome: dict[int, str] = {}
    # All that the batch would take after its letters: letter by letter, groups would be taken in no order.
    while_deciding()
    lock_groups({letter.group_id for letter in letters if letter.group_id is not None})
    for letter in read([letter.pk for letter in letters]):
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


def mark(bulk: BulkAction, members: Mapping[int, int], outcome: Mapping[int, str]) -> None:
    """Write what became of each member, and count it. ``members``: letter id → the member's id."""
    done = [pk for letter_id, pk in members.items() if outcome.get(letter_id) == ""]
    skipped = []
    for letter_id, pk in members.items():
        if why := one_line(outcome.get(letter_id, LETTER_GONE), 200):
            skipped.append(BulkMember(pk=pk, state=Member.SKIPPED, why=why))
            _count(bulk, why)
    BulkMember.objects.filter(Among("pk", done)).update(state=Member.DONE)
    update_rows(BulkMember, skipped, ["state", "why"])
    bulk.done += len(done)


def _count(bulk: BulkAction, why: str, number: int = 1) -> None:
    reasons = bulk.skipped_for
    if why not in reasons and len(reasons) >= MOST_REASONS:
        why = OTHER_REASONS
    reasons[why] = reasons.get(why, 0) + number
    bulk.skipped += number


def stop(bulk: BulkAction, why: str) -> int:
    """Cancel it by itself; answers 0, the letters that were dealt with."""
    bulk.state, bulk.ended_at = State.CANCELLED, timezone.now()
    bulk.save(update_fields=["state", "ended_at"])
    record_bulk(SCHEDULER, "cancel", bulk, before={"state": State.RUNNING}, reason=why)
    log.warning("bulk action %s is cancelled: %s", bulk.pk, why)
    return 0


def finish_if_over(bulk: BulkAction) -> None:
    """End it when no member waits any more."""
    if bulk.members.filter(state=Member.WAITING).exists():
        return
    # A member goes with its letter; what was chosen is still told in full.
    gone = bulk.matched - bulk.done - bulk.skipped
    if gone > 0:
        _count(bulk, LETTER_GONE, gone)
    bulk.state, bulk.ended_at = State.FINISHED, timezone.now()
    record_bulk(actor_of(bulk), "finish", bulk, before={"state": State.RUNNING})
