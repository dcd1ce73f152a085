"""Single attempts of jobs, run in the test's own process: claimed and settled as a slot would."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from jobops import job
from jobops.contracts.runner import ContractRunner
from jobops.engine.client import Engine
from jobops.engine.records import ClaimedJob, Outcome
from jobops.engine.timeouts import SoftTimeout
from tests.engine.helpers import expire, make_due
from tests.runtime import factory
from tests.runtime.effect_jobs import PROMISES

WORKER = {
    "JOBOPS_JOB_MODULES": "tests.runtime.effect_jobs",
    "JOBOPS_LEASE_SECONDS": "2",
    "JOBOPS_HEARTBEAT_SECONDS": "0.5",
}
"""The environment of a real worker that runs them."""

_numbers = itertools.count(1)


def attempt(engine: Engine) -> tuple[ClaimedJob, Outcome, str]:
    """The next attempt of whatever waits, from its claim to its settlement; one that is delayed is made due first."""
    for delayed in engine.redis.zrange("rq:scheduler:scheduled_jobs", 0, -1):
        make_due(engine, delayed.decode())
    engine.scripts.promote()
    claimed = factory.claim(engine)
    assert claimed is not None, "no job waits"
    outcome = run(claimed)
    return claimed, outcome, factory.settle(engine, claimed, outcome)


def run(claimed: ClaimedJob) -> Outcome:
    """The job's code, under its lease."""
    return ContractRunner().run(claimed, SoftTimeout())


def lose(engine: Engine, claimed: ClaimedJob) -> None:
    """Its worker is gone, and its lease is over: the job goes back to its queue, or dies."""
    expire(engine, claimed.id)
    engine.scripts.rescue(gap_ms=3_600_000, hold_ms=0)


def enqueue(func: Any, /, *args: Any, **kwargs: Any) -> str:
    return str(func.using(tenant="acme").enqueue(*args, **kwargs).id)


def calling(name: str, body: Callable[..., Any], **contract: Any) -> Any:
    """A job type of a test, which may make several: each has a name of its own."""
    name = f"{name}-{next(_numbers)}"
    return job(name=name, **{**PROMISES, "idempotent": "by once", **contract})(body)
