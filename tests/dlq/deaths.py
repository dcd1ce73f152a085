"""Jobs that die for real, and many deaths at once, written as the engine writes them."""

from __future__ import annotations

import itertools
import uuid

from jobops.engine.client import Engine
from jobops.engine.payload import encode
from jobops.engine.records import NewJob, Outcome, Policy
from tests.conftest import LANES

_slots = itertools.count()


def die(
    engine: Engine,
    *,
    tenant: str = "acme",
    job_type: str = "tests.job",
    data: bytes | None = None,
    outcome: Outcome | None = None,
    attempts: int = 1,
    **fields: object,
) -> str:
    """Enqueue a job and have it fail ``attempts`` times, the last time for good. Answers its id."""
    if engine.scripts.policy(tenant) is None:
        engine.scripts.set_policy(Policy(tenant))
    data = encode(job_type, [1], {"name": "x"}) if data is None else data
    job = NewJob(
        uuid.uuid4().hex, tenant, "bulk", job_type, data, max_attempts=attempts, correlation_id="c-1", **fields  # type: ignore[arg-type]
    )  # fmt: skip
    engine.scripts.enqueue(job)
    outcome = outcome or Outcome.failed("error", "ValueError", "broken", "Traceback …\nValueError: broken")
    for _ in range(attempts):
        engine.scripts.promote()
        slot = f"slot-{next(_slots)}"
        claimed = engine.scripts.claim(slot, 1, "worker-1", list(LANES), 10).job
        assert claimed is not None
        assert claimed.id == job.id
        settled = engine.scripts.settle(slot, 2, claimed.id, claimed.token, outcome)
    assert settled.outcome == "dead"
    return job.id


def set_field(engine: Engine, job_id: str, field: bytes | str, value: bytes) -> None:
    """Put any bytes into a job's hash."""
    engine.redis.hset(f"rq:job:{job_id}", field, value)


def vanish(engine: Engine, job_id: str) -> None:
    """Have the job's hash evicted."""
    engine.redis.delete(f"rq:job:{job_id}")


def record_of_a_death(engine: Engine, **fields: object) -> dict[bytes, bytes]:
    """The hash of a job that died for real, and is taken out again."""
    job_id = die(engine, **fields)  # type: ignore[arg-type]
    record = engine.redis.hgetall(f"rq:job:{job_id}")
    engine.redis.zrem(engine.keys.dead(), f"{job_id}:1")
    vanish(engine, job_id)
    return record


def multiply(engine: Engine, count: int, record: dict[bytes, bytes] | None = None) -> None:
    """``count`` deaths, copies of a real one under ids of their own."""
    record = record or record_of_a_death(engine)
    died_at, name = engine.scripts.now_ms(), uuid.uuid4().hex
    with engine.redis.pipeline(transaction=False) as pipe:
        for number in range(count):
            job_id = f"{name}-{number:06}"
            pipe.hset(f"rq:job:{job_id}", mapping=record)  # type: ignore[arg-type]
            pipe.zadd(engine.keys.dead(), {f"{job_id}:1": died_at + number})
        pipe.execute()


def waiting(engine: Engine) -> int:
    """Deaths that are still in Redis."""
    return int(engine.redis.zcard(engine.keys.dead()))
