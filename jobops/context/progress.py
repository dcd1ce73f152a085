"""How far a running job is: for people only, so it is sent now and then, and never worth a failure."""

from __future__ import annotations

import logging
import time

from jobops.context import lease
from jobops.contracts.errors import LeaseLost
from jobops.contracts.running import RunningJob
from jobops.engine.errors import InvalidJob
from jobops.engine.link import FAILURES

log = logging.getLogger("jobops.context")

EVERY_S = 0.5
"""Between two that are sent. The last one before the job's end is sent in any case."""

PAUSE_PER_FAILURE = 20
"""The pause after one that failed is so much longer than the failure took."""

MOST = 2**53 - 1
"""The largest whole number that all readers of JSON agree on."""


def report(job: RunningJob, done: int, total: int) -> None:
    """Tells that ``done`` of ``total`` are done. One that does not get through is dropped.

    Raises InvalidJob naming a number that cannot be used, and LeaseLost.
    """
    saved = job.saved
    first = not saved.at_end
    saved.progress = _count("done", done), _count("total", total)
    if not job.token:
        return
    if first:
        saved.at_end.append(lambda: _flush(job))
    if time.monotonic() - saved.progress_at >= EVERY_S:
        _send(job)


def _flush(job: RunningJob) -> None:
    if job.saved.progress is None:
        return
    try:
        _send(job)
    except LeaseLost:
        log.info("job %s: its last progress is dropped, as its lease is over", job.id)


def _send(job: RunningJob) -> None:
    saved = job.saved
    if saved.progress is None:
        return
    done, total = saved.progress
    began = saved.progress_at = time.monotonic()
    saved.progress = None
    try:
        kept = lease.ask(lambda scripts: scripts.save_progress(job.id, job.token, done, total))
    except FAILURES as error:
        # A Redis that answers nothing costs a time-out each time: little of the job's own time goes into that.
        ended = time.monotonic()
        saved.progress, saved.progress_at = (done, total), ended + PAUSE_PER_FAILURE * (ended - began)
        log.info("job %s: its progress could not be sent: %s", job.id, error)
        return
    if not kept:
        raise LeaseLost(job.id)


def _count(name: str, value: object) -> int:
    if type(value) is int and 0 <= value <= MOST:
        return value
    raise InvalidJob(name, f"{value!r:.100} is no progress; give a whole number from 0 to {MOST:,}")
