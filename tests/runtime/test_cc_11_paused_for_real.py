"""CC-11: a tenant's pause holds through restarts of everything, for all that comes back to its queue by any path."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from dlq.intake import take_in
from dlq.models import DeadLetter
from dlq.services import letter_replay
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.runtime import enqueuer, lookup
from tenants import services
from tenants.models import Tenant
from tests.runtime.conftest import Outage
from tests.runtime.factory import claim, new_job, settle, tenant, waiting
from tests.runtime.processes import running
from tests.tools import wait_for

pytestmark = pytest.mark.django_db(transaction=True)
JOBS = {"JOBOPS_JOB_MODULES": "tests.runtime.factory", "JOBOPS_HEARTBEAT_SECONDS": "0.5"}


def claimed(engine: Engine, **fields: int) -> str:
    """A job that somebody has claimed."""
    engine.scripts.enqueue(job := new_job(**fields))
    found = claim(engine)
    assert found is not None
    assert found.id == job.id
    return job.id


def failed(engine: Engine, outcome: Outcome) -> str:
    engine.scripts.enqueue(new_job())
    found = claim(engine)
    assert found is not None
    settle(engine, found, outcome)
    return found.id


def attempts(ids: list[str]) -> dict[str, int]:
    found = {job_id: lookup(job_id) for job_id in ids}
    return {job_id: view.attempts for job_id, view in found.items() if view is not None}


def work_is_done_for_another(name: str) -> None:
    """So the worker claims; what it left alone it was not allowed to take."""
    handle = enqueuer().enqueue(new_job(tenant="other"))
    wait_for(lambda: getattr(lookup(handle.id), "state", "") == "succeeded", seconds=40, what=f"a job by {name}")


def test_nothing_of_a_paused_tenant_starts_whatever_is_restarted(outage: Outage, tmp_path: Path) -> None:
    """CC-11: an expired lease, a retry, a due time, a replay and a new job; worker, scheduler and Redis restart."""
    engine = outage.engine
    tenant("other")
    failed(engine, Outcome.failed("poison", "ValueError", "no"))
    take_in(engine)
    letter = DeadLetter.objects.get()
    lost, retried = claimed(engine, lease_ms=300), failed(engine, Outcome.failed("error", delay_ms=300))
    engine.scripts.enqueue(delayed := new_job(delay_ms=300))
    services.tenant_pause(tenant=Tenant.objects.get(slug="acme"), by="tests", reason="test")
    replay, fresh = letter_replay(letter_id=letter.pk, by="tests").job_id, enqueuer().enqueue(new_job()).id
    all_of_it = [lost, retried, delayed.id, replay, fresh]
    with ExitStack() as first:
        first.enter_context(running(tmp_path / "worker", "worker", **JOBS))
        first.enter_context(running(tmp_path / "scheduler", "scheduler", **JOBS))
        wait_for(lambda: set(all_of_it) <= {*waiting(engine), *waiting(engine, "acme.bulk")}, seconds=40, what="all")
        before = attempts(all_of_it)
        work_is_done_for_another("the first worker")
        outage.begin()
        outage.end()
    assert (before[lost], before[fresh]) == (1, 0)
    with ExitStack() as second:
        second.enter_context(running(tmp_path / "worker again", "worker", **JOBS))
        second.enter_context(running(tmp_path / "scheduler again", "scheduler", **JOBS))
        work_is_done_for_another("the second worker")
        assert attempts(all_of_it) == before
        assert {view.state for job_id in all_of_it if (view := lookup(job_id))} == {"queued"}
        services.tenant_resume(tenant=Tenant.objects.get(slug="acme"), by="tests")
        wait_for(lambda: DeadLetter.objects.filter(state="resolved").exists(), seconds=40, what="the replay's success")
        for job_id in all_of_it:
            wait_for(lambda job_id=job_id: lookup(job_id).state == "succeeded", what="its end")  # type: ignore[misc, union-attr]
