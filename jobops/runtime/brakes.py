"""Which jobs put brakes on and what they said, without what is secret in their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlq.text import one_line
from jobops.contracts import masking
from jobops.engine.gates import GateView
from jobops.engine.jobs import read_jobs
from jobops.engine.records import JobView
from jobops.runtime.engine import get_engine
from jobops.runtime.job_texts import LONGEST_ERROR, secrets_of_job


@dataclass(frozen=True, slots=True)
class Brake:
    """Who put it on. ``said``: masked, in a line; empty if nothing. ``job_type`` and ``tenant``: empty once the job's
    record is gone."""

    job_id: str
    said: str
    job_type: str = ""
    tenant: str = ""


def read_brakes(gates: Sequence[GateView]) -> dict[str, Brake]:
    """By gate, of those with a brake on. One round trip for all. Raises ``redis.RedisError``."""
    braked = [gate for gate in gates if gate.brake_until_ms]
    wanted = [gate.brake_by for gate in braked if gate.brake_by]
    jobs = {job.id: job for job in read_jobs(get_engine(), wanted)} if wanted else {}
    return {gate.name: _brake(gate.brake_by, gate.brake_error, jobs.get(gate.brake_by)) for gate in braked}


def brake_of(job_id: str, said: str) -> Brake:
    """One that this job put on, saying this. Raises ``redis.RedisError``."""
    return _brake(job_id, said, next(iter(read_jobs(get_engine(), [job_id] if job_id else [])), None))


def _brake(job_id: str, said: str, job: JobView | None) -> Brake:
    # Its record may be gone by now, and the arguments with it: then whatever looks like a secret is masked.
    secrets = secrets_of_job(job) if job is not None else masking.UNKNOWN_SECRETS
    text = one_line(masking.masked_text(said, secrets), LONGEST_ERROR) if said else ""
    return Brake(job_id, text, job.job_type, job.tenant) if job is not None else Brake(job_id, text)
