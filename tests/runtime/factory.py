"""What the runtime's tests build: tenants that both stores know, and jobs."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from jobops.contracts.decorator import job
from jobops.engine.client import Engine
from jobops.engine.payload import encode
from jobops.engine.records import ClaimedJob, NewJob, Outcome
from tenants import services
from tenants.models import Tenant


@job(name="tests.echo", owner="tests", drain_sla="1h", idempotent="does nothing", lane="interactive", timeout="5s")
def echo(value: object = None, **more: object) -> object:
    return value


def tenant(slug: str = "acme", **fields: Any) -> Tenant:
    return services.tenant_create(slug=slug, by="tests", **fields).tenant


def new_job(tenant: str = "acme", **fields: Any) -> NewJob:
    defaults: dict[str, Any] = {"id": uuid4().hex, "lane": "interactive", "job_type": "tests.echo"}
    defaults |= {"data": encode("tests.echo", (), {}), "max_attempts": 3}
    return NewJob(tenant=tenant, **(defaults | fields))


def claim(engine: Engine, slot: str | None = None) -> ClaimedJob | None:
    return engine.scripts.claim(slot or uuid4().hex, 1, "w1", list(engine.lanes), block_ms=10).job


def settle(engine: Engine, job: ClaimedJob, outcome: Outcome) -> str:
    return engine.scripts.settle(uuid4().hex, 1, job.id, job.token, outcome).outcome


def run_all(engine: Engine, outcome: Outcome | None = None) -> list[str]:
    """Claim and settle whatever may run; answers the ids in order."""
    ran = []
    while job := claim(engine):
        settle(engine, job, outcome or Outcome.succeeded())
        ran.append(job.id)
    return ran


def waiting(engine: Engine, queue: str = "acme.interactive") -> list[str]:
    return [member.decode() for member in engine.redis.lrange(f"rq:queue:{queue}", 0, -1)]
