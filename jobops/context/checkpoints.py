"""Checkpoints: where a job goes on when it is started again."""

from __future__ import annotations

from typing import Any

from jobops.context import lease
from jobops.contracts.errors import LeaseLost
from jobops.contracts.running import RunningJob
from jobops.engine.errors import InvalidJob
from jobops.engine.payload import decode_result, encode_result
from jobops.engine.validation import CHECKPOINT_LIMIT


def save(job: RunningJob, state: Any) -> None:
    """Keeps ``state`` as the job's checkpoint. When this returns, it outlives the process.

    Raises InvalidJob naming what cannot be kept, and LeaseLost.
    """
    data = _encoded(state)
    if job.token and not lease.insist(job, lambda scripts: scripts.save_checkpoint(job.id, job.token, data)):
        raise LeaseLost(job.id)
    job.saved.state = data


def state_of(job: RunningJob) -> Any:
    """The checkpoint saved last, by this run or one before; None if there is none.

    Raises InvalidJob if somebody else has written it.
    """
    data = job.saved.state or job.checkpoint
    return decode_result(data, "checkpoint") if data else None


def _encoded(state: Any) -> bytes:
    # What is lost cannot be told from what was never there: nothing is no place to go on from.
    if state is None or (isinstance(state, str | list | dict) and not state):
        raise InvalidJob("checkpoint", f"{state!r} is nothing to go on from; save a position, such as {{'after': 400}}")
    data = encode_result(state, "checkpoint")
    if len(data) > CHECKPOINT_LIMIT:
        raise InvalidJob(
            "checkpoint",
            f"{len(data)} bytes as JSON, the limit is {CHECKPOINT_LIMIT}; save a position, and keep the data elsewhere",
        )
    return data
