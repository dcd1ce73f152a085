"""Replays on their way to their sources: each is pushed once, whoever is killed meanwhile.

Its run is committed with ``UNSENT`` before. A source that has it says so for days, so that a second push is a no-op.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta

from django.utils import timezone
from redis.exceptions import RedisError, ResponseError

from dlq.endings import Ending, settle
from dlq.foreign.records import unpacked
from dlq.foreign.scripts import Commands
from dlq.foreign.sources import SourceError, sources
from dlq.models import ForeignJob, ReplayRun
from dlq.replay_push import note_sent
from jobops.engine.link import is_away

log = logging.getLogger(__name__)

LOOK_AFTER = timedelta(seconds=2)
"""When the watch looks for a replay that was just pushed."""

PUSHED = ("sent", "before")
_ALREADY = "its job is {} there already: somebody sent it back to run at its source"
_FINISHED = "its job has finished there since: somebody sent it back to run at its source"


def push(replays: Sequence[str]) -> None:
    """Push the jobs of these runs, which are committed. What a source does not take now, the watch pushes again.

    Must not be called in a transaction that may be rolled back. Raises what the database raises: nothing is lost.
    """
    if not replays:
        return
    known = sources()
    for name, runs in _by_source(replays).items():
        if name not in known:
            continue
        source = known[name]
        try:
            with source.connect() as client:
                push_runs(Commands(client, source.prefix), runs)
        except (RedisError, SourceError) as error:
            told = source.silent(error) if isinstance(error, RedisError) else error
            log.warning("%d replay(s) wait for their source: %s", len(runs), told)


def push_runs(commands: Commands, runs: Iterable[ReplayRun]) -> None:
    """Push runs of one source, with their letters' ``foreign`` read. Raises ``redis.RedisError``; the rest waits."""
    sent: list[ReplayRun] = []
    refused: list[Ending] = []
    try:
        for run in runs:
            why = _push(commands, run)
            if why:
                refused.append(Ending(run.job_id, ReplayRun.State.REFUSED, timezone.now(), error=why, by_watch=True))
            else:
                sent.append(run)
    finally:
        _note(sent, refused)


def _push(commands: Commands, run: ReplayRun) -> str:
    """Why the source does not take it; empty if it has."""
    foreign: ForeignJob = run.letter.foreign
    try:
        fields = unpacked(bytes(foreign.record))
        now = timezone.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        answer = commands.push(run.job_id, foreign.rq_id, foreign.queue, now, fields)
    except ValueError:
        return "what was kept of its record cannot be read"
    except ResponseError as error:
        if is_away(error):
            raise
        return f"its source refuses it: {type(error).__name__}"
    if answer in PUSHED:
        return ""
    return _FINISHED if answer == "finished" else _ALREADY.format(answer)


def _note(sent: Sequence[ReplayRun], refused: Sequence[Ending]) -> None:
    # Each in a transaction of its own: who ends a run takes its group after it, and never a run after a group.
    note_sent([run.job_id for run in sent], LOOK_AFTER)
    settle(refused)


def _by_source(replays: Sequence[str]) -> dict[str, list[ReplayRun]]:
    found: dict[str, list[ReplayRun]] = defaultdict(list)
    runs = ReplayRun.objects.filter(job_id__in=list(replays), state=ReplayRun.State.RUNNING)
    for run in runs.select_related("letter__foreign").order_by("pk"):
        found[run.letter.foreign.source].append(run)
    return found
