"""What people do to dead letters: replay, discard, undo; one letter or a batch, by the same rules.

Callers ask ``tenants.access.can`` before; services do not know who may do what. Each change of a state is a
compare-and-set in one transaction with the job that it makes and with its row in the audit.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from dlq.changing import Done, answers, checked, move, record, set_fields
from dlq.clock.catching_up import catch_up
from dlq.clock.draining import NOT_DRAINED, drain_seconds, marks
from dlq.editing import Edit
from dlq.errors import InvalidAction, NotReplayable
from dlq.foreign.homes import HomeJob
from dlq.foreign.sending import push as push_home
from dlq.locking import lock_letters, with_tenants
from dlq.models import BulkAction, DeadLetter, ReplayRun, State
from dlq.owners.redeciding import opened_again
from dlq.replay_push import LOOK_AFTER, UNSENT
from dlq.replaying import jobs_of, key_refusals, told_of
from dlq.retention import kept_since, too_late
from dlq.states import Event
from dlq.text import visible
from jobops.contracts.enqueuer import enqueuer
from jobops.engine.errors import EnqueueRefused
from jobops.engine.records import NewJob
from tenants.services import Actor, actor_name

REASON_LENGTH = 500

CHECK_AFTER = timedelta(seconds=60)
"""When the watch first looks for a replay that nothing was heard of."""


def letter_replay(*, letter_id: int, by: Actor, bulk: BulkAction | None = None, from_start: bool = False) -> ReplayRun:
    """Send a letter back to run; answers the run, whose job goes to Redis on commit.

    ``from_start``: its job begins anew, and does not resume from the letter's checkpoint.
    Raises ``WrongState`` (somebody was faster), ``NotReplayable``, or ``DeadLetter.DoesNotExist``.
    """
    # Before the transaction: a Redis that answers late must not hold up everybody who writes.
    keys_held = key_refusals([DeadLetter.objects.select_related("tenant").get(pk=letter_id)])
    with transaction.atomic():
        letter = _lock_one(letter_id)
        done = _replay([letter], by, bulk, keys_held, from_start=from_start)
        done.raise_for(letter_id)
    return done.runs[letter_id]


def letter_replay_edited(*, letter_id: int, by: Actor, edit: Edit, from_start: bool = False) -> ReplayRun:
    """The same with other arguments, this once: the letter keeps its own, and the run keeps those of the ``edit``.

    Whoever calls knows that the person may edit payloads. The audit says which arguments are changed, and no value.
    """
    keys_held = key_refusals([DeadLetter.objects.select_related("tenant").get(pk=letter_id)])
    with transaction.atomic():
        letter = _lock_one(letter_id)
        done = _replay([letter], by, None, keys_held, from_start=from_start, edits={letter_id: edit})
        done.raise_for(letter_id)
    return done.runs[letter_id]


def letter_discard(*, letter_id: int, by: Actor, reason: str) -> DeadLetter:
    """Close a letter for good; the row stays, and ``letter_undo`` opens it again.

    Raises ``InvalidAction`` for a reason that is blank or too long, ``WrongState`` (of one that is being replayed
    too: how that run ends decides), or ``DeadLetter.DoesNotExist``.
    """
    reason = clean_reason(reason)
    with transaction.atomic():
        letter = _lock_one(letter_id)
        _discard([letter], by, reason).raise_for(letter_id)
    return letter


def letter_undo(*, letter_id: int, by: Actor) -> DeadLetter:
    """Open a discarded letter again, with its old clock and the pauses of its group since; whose it is, and how long
    for, is what is in force now.

    Raises ``WrongState``, ``InvalidAction`` when it would be purged any moment, or ``DeadLetter.DoesNotExist``.
    """
    with transaction.atomic():
        letter = _lock_one(letter_id)
        _undo([letter], by).raise_for(letter_id)
    return letter


def replay_batch(
    letters: Sequence[DeadLetter],
    by: Actor,
    bulk: BulkAction | None = None,
    keys_held: Mapping[int, str] | None = None,
    *,
    from_start: bool = False,
) -> dict[int, str]:
    """Send letters back to run, in the caller's transaction; answers for each id "" (done) or why it was skipped.

    The letters must be locked (``lock_letters``). ``keys_held``: what ``key_refusals`` said of them before the
    transaction; Redis is asked within it otherwise. ``from_start`` as for ``letter_replay``.
    """
    held = key_refusals(with_tenants(letters)) if keys_held is None else keys_held
    return answers(letters, _replay(letters, by, bulk, held, from_start=from_start))


def discard_batch(
    letters: Sequence[DeadLetter], by: Actor, reason: str, bulk: BulkAction | None = None
) -> dict[int, str]:
    """Close locked letters for good, in the caller's transaction; answers as ``replay_batch``.

    ``bulk``: of which this is a part; its undo opens what it has closed itself, and nothing else.
    Raises ``InvalidAction`` as ``letter_discard``.
    """
    return answers(letters, _discard(letters, by, clean_reason(reason), bulk))


def undo_batch(letters: Sequence[DeadLetter], by: Actor) -> dict[int, str]:
    """Open locked, discarded letters again, in the caller's transaction; answers as ``replay_batch``."""
    return answers(letters, _undo(letters, by))


def clean_reason(reason: str) -> str:
    """The reason as it is stored. Raises ``InvalidAction`` when it is blank or too long."""
    text = visible(reason).strip()
    if not text:
        raise InvalidAction("reason", "choose a reason; with “Something else” a note is needed too")
    if len(text) > REASON_LENGTH:
        raise InvalidAction("reason", f"{len(text)} characters are too many; at most {REASON_LENGTH}")
    return text


def _lock_one(letter_id: int) -> DeadLetter:
    letters = lock_letters([letter_id])
    if not letters:
        raise DeadLetter.DoesNotExist(f"There is no dead letter {letter_id}.")
    return letters[0]


def _replay(
    letters: Sequence[DeadLetter],
    by: Actor,
    bulk: BulkAction | None,
    keys_held: Mapping[int, str],
    *,
    from_start: bool = False,
    edits: Mapping[int, Edit] | None = None,
) -> Done:
    edits = edits or {}
    payloads = {letter_id: edit.payload for letter_id, edit in edits.items()}
    done = Done()
    with transaction.atomic(savepoint=False):
        jobs, done.refused = jobs_of(with_tenants(letters), keys_held, from_start=from_start, payloads=payloads)
        own = {letter_id: job for letter_id, job in jobs.items() if not isinstance(job, HomeJob)}
        taken = enqueuer().enqueue_many(list(own.values()))
        for letter_id, answer in zip(own, taken, strict=True):
            if isinstance(answer, EnqueueRefused):
                done.refused[letter_id] = NotReplayable(letter_id, str(answer))
                del jobs[letter_id]
        sent = [letter for letter in letters if letter.pk in jobs]
        done.runs = _start_runs(sent, jobs, by, bulk, payloads)
        homes = [job.id for job in jobs.values() if isinstance(job, HomeJob)]
        if homes:
            # Robust: what this leaves behind, the watch pushes.
            transaction.on_commit(partial(push_home, homes), robust=True)
        move(sent, Event.REPLAY, replays=F("replays") + 1, replay_job_id=_newest_job(), note="")
        for letter in sent:
            letter.replays, letter.replay_job_id, letter.note = letter.replays + 1, jobs[letter.pk].id, ""
        extra = {"bulk": bulk.pk} if bulk is not None else {}
        begins = "start" if from_start else "checkpoint"
        record(
            by,
            "letter.replay",
            sent,
            State.OPEN,
            lambda letter: {
                "job": letter.replay_job_id,
                **extra,
                **({"from": begins} if letter.checkpoint else {}),
                **told_of(letter, jobs[letter.pk], edits.get(letter.pk)),
            },
        )
    return done


def _start_runs(
    letters: Sequence[DeadLetter],
    jobs: Mapping[int, NewJob],
    by: Actor,
    bulk: BulkAction | None,
    payloads: Mapping[int, str],
) -> dict[int, ReplayRun]:
    now, name = timezone.now(), actor_name(by)
    runs = [
        ReplayRun(
            letter=letter,
            number=letter.replays + 1,
            job_id=jobs[letter.pk].id,
            bulk=bulk,
            by=name,
            started_at=now,
            check_at=now + (LOOK_AFTER if isinstance(jobs[letter.pk], HomeJob) else CHECK_AFTER),
            note=UNSENT if isinstance(jobs[letter.pk], HomeJob) else "",
            payload=payloads.get(letter.pk, ""),
        )
        for letter in letters
    ]
    ReplayRun.objects.bulk_create(runs)
    return {run.letter_id: run for run in runs}


def _newest_job() -> Subquery:
    runs = ReplayRun.objects.filter(letter=OuterRef("pk")).order_by("-number")
    return Subquery(runs.values("job_id")[:1])


def _discard(letters: Sequence[DeadLetter], by: Actor, reason: str, bulk: BulkAction | None = None) -> Done:
    done = checked(letters, Event.DISCARD)
    changed = [letter for letter in letters if letter.pk not in done.refused]
    name, now = actor_name(by), timezone.now()
    told = {"discard_reason": reason, "drained_by": name, "discarded_in": bulk}
    with transaction.atomic(savepoint=False):
        move(changed, Event.DISCARD, drained_at=now, drain_s=drain_seconds(now), **told)
        record(by, "letter.discard", changed, State.OPEN, reason=reason)
    for letter in changed:
        set_fields([letter], {**told, **marks(letter, now)})
    return done


def _undo(letters: Sequence[DeadLetter], by: Actor) -> Done:
    done = checked(letters, Event.UNDO)
    oldest = kept_since()
    for letter in letters:
        if letter.pk not in done.refused and letter.drained_at is not None and letter.drained_at < oldest:
            done.refused[letter.pk] = InvalidAction("undo", too_late())
    changed = [letter for letter in letters if letter.pk not in done.refused]
    emptied = {"discard_reason": "", "drained_by": "", "discarded_in": None, **NOT_DRAINED}
    with transaction.atomic(savepoint=False):
        catch_up(changed)
        opened_again(changed)
        move(changed, Event.UNDO, **emptied)
        record(by, "letter.undo", changed, State.DISCARDED)
    set_fields(changed, emptied)
    return done
