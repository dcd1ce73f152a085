"""What must hold in Redis at every instant, checked on one atomic snapshot, also while workers run.

``check(engine)`` raises an AssertionError that lists every violation; ``violations(engine)`` returns them.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection

from jobops.engine.client import Engine
from tests.engine import gate_invariants
from tests.engine.snapshot import Snapshot

_LIVE = {"queued", "scheduled", "started", "rate_limited"}


def check(engine: Engine, *, tombstones: bool = False, lowered: Collection[str] = ()) -> None:
    """Raises AssertionError when anything does not hold. See ``violations``."""
    found = violations(engine, tombstones=tombstones, lowered=lowered)
    assert not found, f"{len(found)} broken invariants:\n" + "\n".join(found[:50])


def violations(engine: Engine, *, tombstones: bool = False, lowered: Collection[str] = ()) -> list[str]:
    """Every violation, one line each.

    ``tombstones``: ids that wait without a job of that state are fine (outsiders deleted or changed jobs).
    ``lowered``: tenants whose cap, and gates whose concurrency, was lowered while jobs ran, so that in flight may be
    above it.
    """
    snap = Snapshot(engine)
    return [
        *_places(snap, tombstones),
        *_lifetimes(snap),
        *_leases(snap),
        *_rings(snap),
        *_caps(snap, lowered),
        *_unique_keys(snap),
        *_attempts(snap),
        *_outcomes(snap),
        *gate_invariants.violations(snap, lowered),
    ]


def _places(snap: Snapshot, tombstones: bool) -> list[str]:
    """I1: a live job is in exactly one of queue, a gate's waiting, delayed set, lease; a dead one in the intake, or
    taken from it."""
    found = []
    queues = snap.under("rq:queue:")
    places = _where(snap)
    for job_id, job in snap.jobs.items():
        wanted = {
            "queued": [f"queue {job.origin}"],
            "rate_limited": [f"waiting {job.waits}"],
            "scheduled": ["delayed"],
            "started": ["lease"],
        }.get(job.status, [])
        stands = places.pop(job_id, [])
        if stands != wanted and not (tombstones and job.status not in _LIVE):
            found.append(f"job {job_id} is {job.status or 'without status'} and stands in {stands}, not {wanted}")
    if not tombstones:
        found += [f"{job_id} stands in {stands} and has no job" for job_id, stands in places.items()]
    unlisted = {f"rq:queue:{queue}" for queue in queues} - set(snap.get("rq:queues", []))
    return found + [f"{queue} is not in rq:queues" for queue in sorted(unlisted)]


def _where(snap: Snapshot) -> defaultdict[str, list[str]]:
    """All places each job id stands in."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for queue, ids in snap.under("rq:queue:").items():
        for job_id, times in Counter(ids).items():
            places[job_id] += [f"queue {queue}"] * times
    for gate, ids in snap.under(snap.keys.waiting("")).items():
        for job_id in ids:
            places[job_id].append(f"waiting {gate}")
    for job_id in snap.get("rq:scheduler:scheduled_jobs"):
        places[job_id].append("delayed")
    for job_id in snap.get(snap.keys.leases()):
        places[job_id].append("lease")
    return places


def _lifetimes(snap: Snapshot) -> list[str]:
    """The living do not vanish, the ended are not kept for ever, the dead wait in the intake or were taken from it."""
    found = []
    dead = {member.rpartition(":")[0] for member in snap.get(snap.keys.dead())}
    for job_id, job in snap.jobs.items():
        if job.status in _LIVE and job.ttl >= 0:
            found.append(f"job {job_id} is {job.status} and vanishes in {job.ttl} s")
        if job.status == "failed" and job_id not in dead and job.ttl < 0:
            found.append(f"job {job_id} is dead, not in the intake, and was not taken from it")
        if job.status in {"finished", "canceled", "stopped"} and job.ttl < 0:
            found.append(f"job {job_id} ended ({job.status}) and is kept for ever")
    return found


def _leases(snap: Snapshot) -> list[str]:
    """Leases, in flight, busy tenants and RQ's started registry say the same."""
    leases, hashes = snap.get(snap.keys.leases()), snap.under(snap.keys.lease(""))
    inflight = {slug: jobs for slug, jobs in snap.under(snap.keys.inflight("")).items() if ":" not in slug}
    found = _differ("leases and lease hashes", set(leases), set(hashes))
    wanted: defaultdict[str, dict[str, float]] = defaultdict(dict)
    started: defaultdict[str, set[str]] = defaultdict(set)
    for job_id, lease in hashes.items():
        if not {"token", "tenant", "lane", "started", "charged", "attempt"} <= set(lease):
            found.append(f"lease {job_id} is incomplete: {sorted(lease)}")
            continue
        wanted[lease["tenant"]][job_id] = leases.get(job_id, math.nan)
        started[f"{lease['tenant']}.{lease['lane']}"].add(f"{job_id}:{lease['token']}")
        job = snap.jobs.get(job_id)
        if job and job.attempt != int(lease["attempt"]):
            found.append(f"lease {job_id} is attempt {lease['attempt']}, its job says {job.attempt}")
    if dict(wanted) != inflight:
        found.append(f"in flight is {inflight}, the leases say {dict(wanted)}")
    found += _differ("busy tenants", set(snap.get(snap.keys.busy(), [])), set(wanted))
    wip = {queue: members for queue, members in snap.under("rq:wip:").items() if members}
    for queue in {*wip, *started}:
        found += _differ(f"rq:wip:{queue}", set(wip.get(queue, {})), started[queue])
        finite = [member for member, score in wip.get(queue, {}).items() if score != math.inf]
        found += [f"rq:wip:{queue}: {member} has a score that RQ's clean-up takes" for member in finite]
    return found


def _rings(snap: Snapshot) -> list[str]:
    """I4: who may run is in the ring at its own virtual time, or parked while it has no token; active are exactly those
    with waiting jobs, also those that all wait at gates."""
    found = []
    for lane in snap.lanes:
        waiting = {q[: -len(lane) - 1] for q in snap.under("rq:queue:") if q.endswith(f".{lane}")}
        ring = snap.get(snap.keys.ring(lane))
        held = {q[: -len(lane) - 1] for q in snap.under(f"{snap.keys.prefix}:held:") if q.endswith(f".{lane}")}
        found += _differ(f"active tenants of {lane}", set(snap.get(snap.keys.active(lane))), waiting | held)
        able = {slug for slug in waiting if gate_invariants.may_run(snap, slug, lane)}
        found += [f"{slug} may run in {lane} and is not in its ring" for slug in sorted(able - set(ring))]
        found += [f"{slug} is in the ring of {lane} without work" for slug in sorted(set(ring) - waiting)]
        for slug, score in ring.items():
            own = float(snap.get(snap.keys.tenant(slug)).get(f"vt:{lane}", "nan"))
            if not math.isclose(score, own, rel_tol=1e-9, abs_tol=1e-6):
                found.append(f"{slug} stands at {score} in the ring of {lane}, its own virtual time is {own}")
    return found


def _caps(snap: Snapshot, lowered: Collection[str]) -> list[str]:
    """I2, seen from outside: in flight is not above the caps."""
    found = []
    for slug, policy in snap.under(snap.keys.tenant("")).items():
        counts = {"cap": len(snap.get(snap.keys.inflight(slug)))}
        counts |= {f"cap:{lane}": len(snap.get(f"rq:wip:{slug}.{lane}")) for lane in snap.lanes}
        for name, count in counts.items():
            if policy.get(name) and count > int(policy[name]) and slug not in lowered:
                found.append(f"{slug} runs {count} jobs, its {name} is {policy[name]}")
    return found


def _unique_keys(snap: Snapshot) -> list[str]:
    """A key names its live job, and no job that ended."""
    holders = snap.under(f"{snap.keys.prefix}:key:")
    found = []
    for name, job_id in holders.items():
        job = snap.jobs.get(job_id)
        if job and (job.status not in _LIVE or name != f"{job.tenant}:{job.job_type}:{job.key}"):
            found.append(f"key {name} is held by {job_id}, which is {job.status}")
    for job_id, job in snap.jobs.items():
        name = f"{job.tenant}:{job.job_type}:{job.key}"
        if job.key and job.status in _LIVE and holders.get(name) != job_id:
            found.append(f"live job {job_id} has key {name}, which is held by {holders.get(name)}")
    return found


def _attempts(snap: Snapshot) -> list[str]:
    """I6: never more starts than allowed."""
    return [
        f"job {job_id} is at attempt {job.attempt} of {job.max_attempts}"
        for job_id, job in snap.jobs.items()
        if job.attempt > job.max_attempts
    ]


def _outcomes(snap: Snapshot) -> list[str]:
    """Whoever asks whether a watched job's end is still to be told is answered rightly."""
    members, newest = snap.get(snap.keys.outcomes()), snap.get(snap.keys.outcome_of())
    found = [f"the outcome of {job_id} does not wait any more" for job_id in newest if newest[job_id] not in members]
    for member in members:
        told = json.loads(member)
        if told["id"] not in newest:
            found.append(f"the outcome of {told['id']} waits, and asked by its id it does not")
    return found


def _differ(what: str, have: set[str], want: set[str]) -> list[str]:
    missing, extra = sorted(want - have), sorted(have - want)
    return [f"{what}: missing {json.dumps(missing)}, too many {json.dumps(extra)}"] if missing or extra else []
