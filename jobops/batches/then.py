"""The job that runs after a batch."""

from __future__ import annotations

from jobops.batches.models import Batch
from jobops.contracts import registry
from jobops.contracts.config import config
from jobops.contracts.promised import promised_by
from jobops.engine.records import NewJob


def then_id(batch_id: str) -> str:
    """The id of the job after the batch: always the same one, so that it is one job."""
    return f"{batch_id}-then"


def then_job(batch: Batch) -> NewJob | None:
    """The job to run after it, by the contract of today; None without one.

    A type that is registered no more dies of that, so that a person sees it.
    """
    if not batch.then_job:
        return None
    settings = config()
    lane = batch.then_lane if batch.then_lane in settings.lanes else settings.lanes[0]
    known = registry.resolve(batch.then_job)
    job = NewJob(
        id=then_id(batch.pk),
        tenant=batch.tenant,
        lane=lane,
        job_type=batch.then_job,
        data=bytes(batch.then_data or b""),
        lease_ms=settings.lease_ms,
        correlation_id=batch.correlation_id,
        tenant_uid=batch.tenant_uid,
    )
    if known is None:
        return job
    promised = promised_by(known)
    return job._replace(
        job_type=known.name,
        max_attempts=known.max_attempts,
        timeout_ms=promised.timeout_ms,
        lease_ms=promised.lease_ms or settings.lease_ms,
        result_ttl_s=promised.result_ttl_s,
        resource=known.resource,
        keep=known.keep_results or 0,
    )
