"""Contracts and claimed jobs for the tests."""

from __future__ import annotations

import itertools
import time
from typing import Any

from jobops.contracts.job_type import JobType
from jobops.engine.payload import encode
from jobops.engine.records import ClaimedJob

GOOD: dict[str, Any] = {
    "owner": "billing",
    "drain_sla": "4h",
    "idempotent": "upserts by invoice id",
    "timeout": "30s",
}
"""A contract without a fault."""

_numbers = itertools.count(1)


def fresh_name() -> str:
    """A name that no job type of this test has yet."""
    return f"sample-{next(_numbers)}"


def claimed(job_type: JobType | str, *args: Any, age_s: float = 0.0, **fields: Any) -> ClaimedJob:
    """A claimed job of this type. `kwargs` in the fields are its arguments; `age_s` ago it was enqueued."""
    name = job_type if isinstance(job_type, str) else job_type.name
    kwargs = fields.pop("kwargs", {})
    values: dict[str, Any] = {
        "id": "job-1",
        "token": "token",
        "tenant": "acme",
        "lane": "bulk",
        "queue": "acme.bulk",
        "job_type": name,
        "attempt": 1,
        "max_attempts": 5,
        "timeout_ms": 5_000,
        "lease_ms": 30_000,
        "data": encode(name, args, kwargs),
        "key": "",
        "correlation_id": "chain-1",
        "enqueued_at_ms": int((time.time() - age_s) * 1000),
        "releases": 0,
        "claimed_at_ms": int(time.time() * 1000),
    }
    return ClaimedJob(**{**values, **fields})
