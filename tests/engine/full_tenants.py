"""Tenants at their depth limit."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.errors import DepthExceeded
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import Slot, job, status


def limit(scripts: Scripts, depth: int | None, slug: str = "acme") -> None:
    scripts.set_policy(Policy(slug, cap=None, depth_limit=depth))


def refused(scripts: Scripts, job_id: str = "new", **fields: object) -> DepthExceeded:
    with pytest.raises(DepthExceeded) as raised:
        scripts.enqueue(job(job_id, **fields))
    return raised.value


def at_a_gate(engine: Engine, *job_ids: str) -> None:
    """These jobs, which need ``stripe``, wait at its gate; the others are back in their queues."""
    engine.scripts.pause_gate("stripe")
    slot = Slot(engine.scripts, "gatekeeper")
    while slot.claim():
        slot.settle(outcome=Outcome.released())
        if all(status(engine, job_id) == "rate_limited" for job_id in job_ids):
            return
    assert all(status(engine, job_id) == "rate_limited" for job_id in job_ids)
