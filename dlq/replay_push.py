"""Jobs of a replay on their way from its runs to Redis. The run plays the outbox's part.

A run is committed with ``UNSENT`` before its job is pushed, and loses it when the job has arrived or is in the outbox.
Whoever is killed between the two leaves runs that say so: the watch pushes those again, with the same ids, a second
push of which is a no-op.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from dlq.errors import NotReplayable
from dlq.foreign.homes import HomeJob
from dlq.locking import with_tenants
from dlq.models import DeadLetter, ReplayRun
from dlq.redirects import redirects_for
from dlq.replay_plan import plan_of
from dlq.replaying import replay_job
from jobops.context import outbox
from jobops.contracts.enqueuer import enqueuer
from jobops.engine.errors import EnqueueRefused
from jobops.engine.records import Enqueued, NewJob

log = logging.getLogger(__name__)

UNSENT = "on its way to Redis"
"""The note of a run whose job may not have arrived anywhere."""

LOOK_AFTER = timedelta(seconds=10)
"""When the watch looks for a job whose sender may have been killed."""
CHUNK = 500
CHECK_AFTER = timedelta(seconds=60)
"""When the watch first looks for a job that is known to have arrived."""


def push(jobs: Sequence[NewJob]) -> dict[str, str]:
    """Push the jobs of runs that are committed; answers job id → what became of it (``queued``, ``duplicate``, …;
    ``home``: it goes to the installation that it is of).

    What Redis does not take now is in the outbox afterwards, from where the relay goes on, or ends it as refused.
    Must not be called in a transaction that may be rolled back. Raises what the database raises: the runs are unsent.
    """
    homes = [job.id for job in jobs if isinstance(job, HomeJob)]
    if homes:
        # Here, as those tell by the same note what was not sent.
        from dlq.foreign.sending import push as push_home

        push_home(homes)
        return dict.fromkeys(homes, "home") | push([job for job in jobs if not isinstance(job, HomeJob)])
    if not jobs:
        return {}
    # One of a tenant that is full waits outside for room, in its place.
    answers = enqueuer().enqueue_many([job._replace(on_full="spill") for job in jobs])
    refused = [job for job, answer in zip(jobs, answers, strict=True) if isinstance(answer, EnqueueRefused)]
    if refused:
        log.warning("%d job(s) of a replay wait in the outbox: Redis refuses them at present", len(refused))
        outbox.write(refused)
    note_sent([job.id for job in jobs])
    return {
        job.id: str(answer.state) if isinstance(answer, Enqueued) else "outbox"
        for job, answer in zip(jobs, answers, strict=True)
    }


def push_again(runs: Sequence[ReplayRun]) -> dict[int, str]:
    """Push the jobs of unsent runs that are nowhere; answers run id → why, for those that no job can be made of now.

    Raises what ``push`` raises.
    """
    if not runs:
        return {}
    letters = {letter.pk: letter for letter in DeadLetter.objects.filter(pk__in={run.letter_id for run in runs})}
    with_tenants(list(letters.values()))
    redirects = redirects_for(letters.values())
    plans = {run.bulk_id: plan_of(run.bulk) for run in runs if run.bulk is not None}
    jobs: list[NewJob] = []
    impossible: dict[int, str] = {}
    for run in runs:
        plan = plans.get(run.bulk_id)
        from_start = run.bulk is not None and run.bulk.from_start
        try:
            letter = letters[run.letter_id]
            lane = plan.lane if plan is not None else ""
            job = replay_job(
                letter, from_start=from_start, lane=lane, number=run.number, payload=run.payload, redirects=redirects
            )
            jobs.append(job)
        except NotReplayable as error:
            impossible[run.pk] = error.why
    pushed = push(jobs)
    log.warning("%d job(s) of replays were pushed again: who was to push them was stopped", len(pushed))
    return impossible


def note_sent(job_ids: Sequence[str], look_after: timedelta = CHECK_AFTER) -> None:
    """Note that the jobs of these runs have arrived; the watch looks for them after that time. An end may have been
    faster: its note stays."""
    table, is_postgresql = connection.ops.quote_name(ReplayRun._meta.db_table), connection.vendor == "postgresql"
    at = connection.ops.adapt_datetimefield_value(timezone.now() + look_after)
    for start in range(0, len(job_ids), CHUNK):
        some = list(job_ids[start : start + CHUNK])
        marks = "ANY(%s)" if is_postgresql else f"({', '.join(['%s'] * len(some))})"
        unsent = f"SELECT id FROM {table} WHERE state = 'running' AND note = %s AND job_id"  # noqa: S608 - our own names
        # Locked in one order, as whoever ends them takes them: or the two might wait for each other.
        found = f"{unsent} = {marks} ORDER BY id FOR NO KEY UPDATE" if is_postgresql else f"{unsent} IN {marks}"
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {table} SET note = '', check_at = %s WHERE id IN ({found})",  # noqa: S608 - our own names
                [at, UNSENT, *([some] if is_postgresql else some)],
            )
