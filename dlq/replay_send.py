"""Sending letters of a replay back to run, many at once: their runs, states, audit and counts in one transaction.

Lighter than ``dlq.services``, by the same rules: a hundred thousand letters must not take an hour.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

from dlq.among import Among
from dlq.causes.counting import count_moves
from dlq.changing import record
from dlq.models import BulkAction, DeadLetter, ReplayRun, State
from dlq.replay_push import LOOK_AFTER, UNSENT
from dlq.replaying import told_of
from dlq.rows import insert_rows
from jobops.engine.records import NewJob
from tenants.services import Actor, actor_name


class _Run(NamedTuple):
    """A ``ReplayRun`` without what makes a model's object dear."""

    letter_id: int
    number: int
    job_id: str
    bulk_id: int
    by: str
    started_at: datetime
    check_at: datetime
    state: str = ReplayRun.State.RUNNING.value
    ended_at: datetime | None = None
    attempt: int = 0
    note: str = UNSENT
    payload: str = ""


def unchanged(letters: Sequence[DeadLetter]) -> set[int]:
    """Ids of those letters that are as they were when they were read; they are locked until the transaction ends.

    Their groups and times are brought up to date.
    """
    locked = DeadLetter.objects.select_for_update(no_key=True).filter(Among("pk", [letter.pk for letter in letters]))
    rows = locked.order_by("pk").values_list(
        "pk", "state", "replays", "last_died_at", "group_id", "tenant_id", "due_at", "dead_at"
    )
    now = {row[0]: row for row in rows}
    same = set()
    for letter in letters:
        row = now.get(letter.pk)
        if row is None or row[1:4] != (letter.state, letter.replays, letter.last_died_at):
            continue
        if row[5] == letter.tenant_id:
            letter.group_id, letter.due_at, letter.dead_at = row[4], row[6], row[7]
            same.add(letter.pk)
    return same


def send(letters: Sequence[DeadLetter], jobs: Mapping[int, NewJob], by: Actor, bulk: BulkAction) -> None:
    """Note that these open letters, locked and in the order of their ids, are on their way with these jobs.

    In the caller's transaction, after whose commit the jobs are to be pushed. Raises what the database raises.
    """
    if not letters:
        return
    now, name = timezone.now(), actor_name(by)
    runs = [
        _Run(letter.pk, letter.replays + 1, jobs[letter.pk].id, bulk.pk, name, now, now + LOOK_AFTER)
        for letter in letters
    ]
    insert_rows(ReplayRun, runs, skip_known=False)
    _to_replaying([(run.job_id, run.letter_id) for run in runs])
    for letter, run in zip(letters, runs, strict=True):
        letter.state, letter.replays, letter.replay_job_id = State.REPLAYING, run.number, run.job_id
    begins = "start" if bulk.from_start else "checkpoint"
    record(
        by,
        "letter.replay",
        letters,
        State.OPEN,
        lambda letter: {
            "job": letter.replay_job_id,
            "bulk": bulk.pk,
            **({"from": begins} if letter.checkpoint else {}),
            **told_of(letter, jobs[letter.pk]),
        },
    )
    # Last: many others change the same few groups.
    count_moves(letters, {letter.pk: State.OPEN.value for letter in letters})


def _to_replaying(moves: Sequence[tuple[str, int]]) -> None:
    """The compare-and-set of (job id, letter id). It cannot miss, as they are locked."""
    table = connection.ops.quote_name(DeadLetter._meta.db_table)
    change = f"UPDATE {table} SET state = 'replaying', replays = replays + 1, note = '', replay_job_id ="  # noqa: S608
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # One statement: each would be a message of its own.
            cursor.execute(
                f"{change} sent.job FROM unnest(%s::text[], %s::bigint[]) AS sent(job, letter)"
                f" WHERE {table}.id = sent.letter AND {table}.state = 'open'",
                [[job for job, _ in moves], [letter for _, letter in moves]],
            )
        else:
            cursor.executemany(f"{change} %s WHERE id = %s AND state = 'open'", moves)
        if cursor.rowcount != len(moves):
            raise RuntimeError("letters were changed while they were sent to run: they were not locked")
