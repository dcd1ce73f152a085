"""What the tests of the engine share: jobs, slots, a full dump of Redis, and time that passes when told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis import Redis

from jobops.engine.client import Engine
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.records import ClaimedJob, NewJob, Outcome, Settled
from jobops.engine.scripts import Scripts

LANES = ("interactive", "bulk")
DATA = b'["t.work",null,[],{}]'
BOOM = Outcome.failed("error", "ValueError", "boom", "Traceback: boom")
"""A failure that is retried at once."""


def job(job_id: str, tenant: str = "acme", lane: str = "bulk", job_type: str = "t.work", **fields: Any) -> NewJob:
    """A job that nothing is special about."""
    return NewJob(job_id, tenant, lane, job_type, fields.pop("data", DATA), **fields)


class Slot:
    """A slot's side of the protocol: it counts its requests."""

    def __init__(self, scripts: Scripts, name: str = "slot", lanes: Sequence[str] = LANES, worker: str = "w1") -> None:
        self.scripts, self.name, self.lanes, self.worker = scripts, name, lanes, worker
        self.seq = 0
        self.held: ClaimedJob | None = None

    def claim(self) -> ClaimedJob | None:
        """The next job or None, asking again as long as the engine says so."""
        while True:
            self.seq += 1
            answer = self.scripts.claim(self.name, self.seq, self.worker, self.lanes)
            if answer.job or answer.wait_ms:
                self.held = answer.job
                return answer.job

    def need(self) -> ClaimedJob:
        """The next job; there must be one."""
        claimed = self.claim()
        assert claimed is not None, "there is no job to claim"
        return claimed

    def settle(
        self, claimed: ClaimedJob | None = None, outcome: Outcome | None = None, *, claim: bool = False
    ) -> Settled:
        """Ends the lease (of the job it claimed last); with ``claim`` asks for the next job in the same call."""
        claimed = claimed or self.held
        assert claimed is not None
        self.seq += 1
        settled = self.scripts.settle(
            self.name, self.seq, claimed.id, claimed.token, outcome or Outcome.succeeded(),
            claim_lanes=self.lanes if claim else (), worker=self.worker,
        )  # fmt: skip
        self.held = settled.claim.job if settled.claim else None
        return settled

    def run(self, outcome: Outcome | None = None) -> str:
        """Claims and settles one job; answers how it was settled."""
        return self.settle(self.need(), outcome).outcome


def slots(scripts: Scripts, count: int, lanes: Sequence[str] = LANES) -> list[Slot]:
    """That many slots."""
    return [Slot(scripts, f"slot{n}", lanes) for n in range(count)]


def expire(engine: Engine, job_id: str, ago_ms: int = 60_000) -> None:
    """Time passes for one lease: it expired ``ago_ms`` ago."""
    tenant = engine.redis.hget(engine.keys.lease(job_id), "tenant").decode()
    at = engine.scripts.now_ms() - ago_ms
    assert engine.redis.zadd(engine.keys.leases(), {job_id: at}, xx=True, ch=True) == 1
    engine.redis.zadd(engine.keys.inflight(tenant), {job_id: at}, xx=True)


def make_due(engine: Engine, job_id: str) -> None:
    """Time passes for one delayed job: it was due a second ago."""
    at = engine.scripts.now_ms() / 1000 - 1
    assert engine.redis.zadd(RQ_SCHEDULED, {job_id: at}, xx=True, ch=True) == 1


def status(engine: Engine, job_id: str) -> str | None:
    """What the job's hash says."""
    value = engine.redis.hget(f"rq:job:{job_id}", "status")
    return value.decode() if value is not None else None


def queued(engine: Engine, queue: str = "acme.bulk") -> list[str]:
    """The ids that wait in a queue, oldest first."""
    return [member.decode() for member in engine.redis.lrange(f"rq:queue:{queue}", 0, -1)]


def running(engine: Engine, tenant: str = "acme") -> int:
    """How many jobs of a tenant are in flight."""
    return engine.redis.zcard(engine.keys.inflight(tenant))


def dump(redis: Redis) -> dict[bytes, tuple[bytes, Any]]:
    """All of Redis: each key's type and content, and whether it has a time to live."""
    readers = {
        b"string": redis.get,
        b"hash": redis.hgetall,
        b"list": lambda key: redis.lrange(key, 0, -1),
        b"set": lambda key: sorted(redis.smembers(key)),
        b"zset": lambda key: redis.zrange(key, 0, -1, withscores=True),
    }
    content = {}
    for key in redis.scan_iter(count=1000):
        kind = redis.type(key)
        content[key] = (kind, readers[kind](key), redis.ttl(key) >= 0)
    return content
