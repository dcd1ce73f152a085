"""Jobs that looked wrong while they were walked past: each is looked at once more, atomically, before it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from jobops.doctor import walk
from jobops.doctor.deaths import recorded
from jobops.doctor.findings import Finding, NotRepaired
from jobops.doctor.site import Site
from jobops.doctor.verdicts import LIVE, verdict
from jobops.engine import keys as rq
from jobops.engine.client import Engine
from jobops.engine.records import Whereabouts


@dataclass(slots=True)
class Suspects:
    """Tells each job once, however often it is suspected."""

    site: Site
    _told: set[str] = field(default_factory=set)

    def confirm(self, suspected: Mapping[str, str]) -> Iterator[Finding]:
        """``suspected``: job id → a queue to look into besides its own, or "". Yields those that are wrong indeed."""
        ids = [job_id for job_id in suspected if job_id not in self._told]
        queues = sorted({suspected[job_id] for job_id in ids} - {""})
        for seen in self.site.engine.scripts.whereabouts(ids, queues) if ids else ():
            found = verdict(seen)
            if found:
                self._told.add(seen.id)
                code, told = found
                yield Finding(code, "job", seen.id, told, _tenant(seen), self._remedy(code, seen, queues))

    def _remedy(self, code: str, seen: Whereabouts, queues: list[str]) -> Callable[[], str]:
        if code == "entry_without_job":
            return partial(_drop_entries, self.site.engine, seen)
        if code == "lease_without_job" and not seen.status:
            return partial(_end_lease, self.site.engine, seen)
        return partial(mend, self.site.engine, seen.id, queues)


def _tenant(seen: Whereabouts) -> str:
    """Whose finding it is; nobody's alone if another tenant's queue is in it: its people read what was mended."""
    return seen.tenant if all(rq.split_queue(queue)[0] == seen.tenant for queue in seen.in_queues) else ""


def mend(engine: Engine, job_id: str, queues: list[str]) -> str:
    """Put a job where its status says that it belongs. Raises ``NotRepaired`` if it is wrong still."""
    attempt = engine.redis.hget(rq.rq_job(job_id), "jo_attempt") or b"0"
    death = (job_id, int(attempt) if attempt.isdigit() else 0)
    done = engine.scripts.mend(job_id, death in recorded([death]), queues)
    if wrong := verdict(engine.scripts.whereabouts([job_id], queues)[0]):
        raise NotRepaired(wrong[1])
    return done


def _drop_entries(engine: Engine, seen: Whereabouts) -> str:
    """Take an id without a record out of where it waits: a claim would pass over it, depth and age count it."""
    job = rq.rq_job(seen.id)
    queues = [rq.rq_queue(queue) for queue in seen.in_queues]
    rooms = [engine.keys.waiting(gate) for gate in seen.waiting]
    with engine.redis.pipeline() as pipe:
        pipe.watch(job)  # somebody may give it a record at this moment
        if pipe.exists(job):
            return ""
        pipe.multi()
        for queue in queues:
            pipe.lrem(queue, 0, seen.id)
        for key in (rq.RQ_SCHEDULED, *rooms):
            pipe.zrem(key, seen.id)
        removed = pipe.execute()
    for queue in {*seen.in_queues, *_queues_with_it(engine, seen)}:
        engine.scripts.reconcile(queue)
    return "its entries taken out; what the job was is lost" if any(removed) else ""


def _queues_with_it(engine: Engine, seen: Whereabouts) -> list[str]:
    """Queues in whose line at a gate it stands: without a record only a look at all of them tells."""
    found = []
    for gate in seen.waiting:
        for names in walk.queues(engine):
            with engine.redis.pipeline(transaction=False) as pipe:
                for name in names:
                    pipe.zscore(engine.keys.line(name, gate), seen.id)
                scores = walk.told(pipe.execute(raise_on_error=False))
            found += [name for name, score in zip(names, scores, strict=True) if score is not None]
    return found


def _end_lease(engine: Engine, seen: Whereabouts) -> str:
    """The lease of a job without a record ends as any other: by its worker, or when it has expired."""
    score = engine.redis.zscore(engine.keys.leases(), seen.id)
    if score is not None and score > engine.scripts.now_ms():
        raise NotRepaired("a worker runs it; the engine writes a record anew when it ends or its lease expires")
    engine.scripts.rescue()
    if seen.tenant and seen.lane:
        engine.scripts.reconcile(f"{seen.tenant}.{seen.lane}")
    now = engine.scripts.whereabouts([seen.id])[0]
    if now.status not in LIVE and (now.lease or now.inflight or now.wip):
        raise NotRepaired("its lease is still there")
    if now.lease_hash and not now.lease:
        engine.redis.delete(engine.keys.lease(seen.id))
    return "its lease ended; what the lease knew of the job went on or into the dead intake"
