"""What people do to dead letters: replay, discard, undo; one letter or a batch, by the same rules.

Callers ask ``tenants.access.can`` before; services do not know who may do what. Each change of a state is a
compare-and-set in one transaction with the job that it makes and with its row in the audit.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from dlq.changing import Done, answers, check_state, checked, move, record, set_fields
from dlq.errors import InvalidAction, LetterError, NotReplayable
from dlq.locking import lock_letters, with_tenants
from dlq.models import BulkAction, DeadLetter, ReplayRun, State
from dlq.replaying import KEY_IS_HELD, key_refusals, replay_job
from dlq.states import Event
from dlq.text import visible
from jobops.contracts.enqueuer import enqueuer
from jobops.engine.errors import EnqueueRefused
from jobops.engine.records import NewJob
from tenants.services import Actor, actor_name

UNDO_FOR = timedelta(days=30)
"""How long a discard can be undone."""

REASON_LENGTH = 500

CHECK_AFTER = timedelta(seconds=60)
"""When the watch first looks for a replay that nothing was heard of."""

TOO_LATE = f"it was discarded more than {UNDO_FOR.days} days ago"


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
    """Open a discarded letter again, with its old clock.

    Raises ``WrongState``, ``InvalidAction`` after ``UNDO_FOR``, or ``DeadLetter.DoesNotExist``.
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
        raise InvalidAction("reason", "say why, for those who look for this letter later")
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
) -> Done:
    done = Done()
    with transaction.atomic(savepoint=False):
        jobs = _jobs(with_tenants(letters), keys_held, done, from_start=from_start)
        taken = enqueuer().enqueue_many(list(jobs.values()))
        for letter_id, answer in zip(list(jobs), taken, strict=True):
            if isinstance(answer, EnqueueRefused):
                done.refused[letter_id] = NotReplayable(letter_id, str(answer))
                del jobs[letter_id]
        sent = [letter for letter in letters if letter.pk in jobs]
        done.runs = _start_runs(sent, jobs, by, bulk)
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
            lambda letter: {"job": letter.replay_job_id, **extra, **({"from": begins} if letter.checkpoint else {})},
        )
    return done


def _jobs(
    letters: Sequence[DeadLetter], keys_held: Mapping[int, str], done: Done, *, from_start: bool
) -> dict[int, NewJob]:
    """The jobs to enqueue, by letter id; the other letters are noted as refused."""
    jobs: dict[int, NewJob] = {}
    keys_taken: set[tuple[str, str, str]] = set()
    for letter in letters:
        try:
            job = _job_for(letter, keys_held, from_start=from_start)
            place = (job.tenant, job.job_type, job.key)
            if job.key and place in keys_taken:
                raise NotReplayable(letter.pk, KEY_IS_HELD)
        except LetterError as error:
            done.refused[letter.pk] = error
            continue
        keys_taken.add(place)
        jobs[letter.pk] = job
    return jobs


def _job_for(letter: DeadLetter, keys_held: Mapping[int, str], *, from_start: bool) -> NewJob:
    check_state(letter, Event.REPLAY)
    job = replay_job(letter, from_start=from_start)
    if letter.pk in keys_held:
        raise NotReplayable(letter.pk, keys_held[letter.pk])
    return job


def _start_runs(
    letters: Sequence[DeadLetter], jobs: Mapping[int, NewJob], by: Actor, bulk: BulkAction | None
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
            check_at=now + CHECK_AFTER,
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
    marks = {"discard_reason": reason, "drained_by": name, "drained_at": now, "discarded_in": bulk}
    with transaction.atomic(savepoint=False):
        move(changed, Event.DISCARD, **marks)
        record(by, "letter.discard", changed, State.OPEN, reason=reason)
    set_fields(changed, marks)
    return done


def _undo(letters: Sequence[DeadLetter], by: Actor) -> Done:
    done = checked(letters, Event.UNDO)
    oldest = timezone.now() - UNDO_FOR
    for letter in letters:
        if letter.pk not in done.refused and letter.drained_at is not None and letter.drained_at < oldest:
            done.refused[letter.pk] = InvalidAction("undo", TOO_LATE)
    changed = [letter for letter in letters if letter.pk not in done.refused]
    marks = {"discard_reason": "", "drained_by": "", "drained_at": None, "discarded_in": None}
    with transaction.atomic(savepoint=False):
        move(changed, Event.UNDO, **marks)
        record(by, "letter.undo", changed, State.DISCARDED)
    set_fields(changed, marks)
    return done
