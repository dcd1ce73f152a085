"""``current_job()``: what a job may know of itself while it runs."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from jobops.contracts.running import RunningJob, running_job


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

    def __repr__(self) -> str:
        return f"<job {self.id} {self._job.job_type} of {self.tenant}, attempt {self.attempt}>"


def current_job() -> CurrentJob:
    """The job that this code runs in. Raises NoCurrentJob outside of one."""
    job = running_job()
    if job is None:
        raise NoCurrentJob
    return CurrentJob(job)
