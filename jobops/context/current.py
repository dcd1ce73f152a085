"""``current_job()``: what a job may know of itself while it runs."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from jobops.context import checkpoints, progress
from jobops.contracts.job_type import OnUnknown
from jobops.contracts.running import RunningJob, running_job

if TYPE_CHECKING:
    from jobops.context.once import Once


class NoCurrentJob(LookupError):
    """``current_job()`` was called outside of a job."""

    def __init__(self) -> None:
        super().__init__(
            "current_job() was called outside of a job; in a test, call the function within "
            "jobops.contracts.running.running(RunningJob(…)); threads do not inherit the current job"
        )


class JobLog(logging.LoggerAdapter[logging.Logger]):
    """A logger whose records carry the job's id, tenant, type, attempt and correlation id."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        # The adapter's own process() throws away an ``extra`` given with the call.
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **(self.extra or {})}
        return msg, kwargs


class CurrentJob:
    """The job that runs. ``attempt`` counts from 1; ``correlation_id`` is shared by the jobs of one chain."""

    __slots__ = ("_job", "log")

    def __init__(self, job: RunningJob) -> None:
        self._job = job
        self.log = JobLog(
            logging.getLogger(f"jobops.job.{job.job_type}"),
            {
                "job_id": job.id,
                "tenant": job.tenant,
                "job_type": job.job_type,
                "attempt": job.attempt,
                "correlation_id": job.correlation_id,
            },
        )

    @property
    def id(self) -> str:
        return self._job.id

    @property
    def tenant(self) -> str:
        return self._job.tenant

    @property
    def attempt(self) -> int:
        return self._job.attempt

    @property
    def correlation_id(self) -> str:
        return self._job.correlation_id

    @property
    def state(self) -> Any:
        """The checkpoint saved last, by this attempt, by one before, or by the run that a replay resumes; None if there
        is none."""
        return checkpoints.state_of(self._job)

    def checkpoint(self, state: Any) -> None:
        """Saves where to go on from, should the job be started again: JSON of at most 64 KiB, as ``{"after": 400}``.

        Save it after the work that it stands for, never before: what is done twice is repeated, what is skipped is
        lost. Once this returns it outlives any process; while Redis is away it waits. Only another checkpoint changes
        it: a failure, a retry or a rescue does not.

        Raises InvalidJob naming what cannot be saved (None and empty values among it), and LeaseLost when another run
        has the job by now.
        """
        checkpoints.save(self._job, state)

    def progress(self, done: int, total: int) -> None:
        """Tells people how far the job is, in whole numbers from 0. Sent at most twice a second, and never worth a
        failure: while Redis is away it is dropped.

        Raises InvalidJob naming a number that cannot be used, and LeaseLost as ``checkpoint``.
        """
        progress.report(self._job, done, total)

    def once(self, key: str, *, on_unknown: OnUnknown = "run", atomic: bool = False) -> Once:
        """An effect that is to happen once under this key of the tenant and job type, though the job may run twice::

            receipt = current_job().once("charge:42").run(charge, amount)

            with current_job().once("charge:42") as effect:
                if effect.done:
                    return effect.result
                effect.result = charge(amount)

        ``on_unknown``: what to do when an earlier run began and nobody knows whether it happened: "run" it again, or
        "dead", a dead letter for a person to look. ``atomic=True``: the block is one database transaction together with
        the record of it: both happen or neither. Raises InvalidJob for a key or a choice that cannot be used; the block
        raises what ``Once`` says.
        """
        # Here, so that jobops can be imported before Django has loaded its models.
        from jobops.context.once import Once

        return Once(self._job, key, on_unknown=on_unknown, atomic=atomic)

    def __repr__(self) -> str:
        return f"<job {self.id} {self._job.job_type} of {self.tenant}, attempt {self.attempt}>"


def current_job() -> CurrentJob:
    """The job that this code runs in. Raises NoCurrentJob outside of one."""
    job = running_job()
    if job is None:
        raise NoCurrentJob
    return CurrentJob(job)
