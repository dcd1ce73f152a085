"""What must hold of gates and of those who wait at them, on one atomic snapshot."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from tests.engine.snapshot import Snapshot


def violations(snap: Snapshot, lowered: Collection[str]) -> list[str]:
    """Every violation, one line each."""
    return [*_rooms(snap), *_places_at_gates(snap, lowered), *_turns(snap), *_parked(snap), *_hints(snap)]


def _rooms(snap: Snapshot) -> list[str]:
    """A gate's waiting, the queues' held and the lines say the same, and so do the jobs."""
    by_gate: defaultdict[str, dict[str, float]] = defaultdict(dict)
    by_queue: defaultdict[str, dict[str, float]] = defaultdict(dict)
    gates: defaultdict[str, set[str]] = defaultdict(set)
    found = []
    for (queue, gate), ids in lines(snap).items():
        by_gate[gate] |= ids
        by_queue[queue] |= ids
        gates[queue].add(gate)
        for job_id in ids:
            job = snap.jobs.get(job_id)
            if not job or (job.status, job.waits, job.origin) != ("rate_limited", gate, queue):
                found.append(f"{job_id} waits in the line of {queue} at {gate}, its record says otherwise")
    for what, have, want in (
        ("waiting", snap.under(snap.keys.waiting("")), by_gate),
        ("held", snap.under(f"{snap.keys.prefix}:held:"), by_queue),
        ("lines", {q: set(names) for q, names in snap.under(snap.keys.lines("")).items()}, gates),
    ):
        if have != dict(want):
            found.append(f"{what} is {have}, the lines say {dict(want)}")
    return found


def _places_at_gates(snap: Snapshot, lowered: Collection[str]) -> list[str]:
    """I2: in flight at a gate are exactly those whose leases hold a place there, and no more than it lets through."""
    leases = snap.get(snap.keys.leases())
    wanted: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for job_id, lease in snap.under(snap.keys.lease("")).items():
        for gate in filter(None, lease.get("gates", "").split("\n")):
            wanted[gate][job_id] = leases.get(job_id, math.nan)
    inflight = snap.under(snap.keys.inflight_resource(""))
    found = [] if inflight == dict(wanted) else [f"in flight at gates is {inflight}, leases say {dict(wanted)}"]
    for gate, limits in snap.under(snap.keys.resource("")).items():
        most, count = limits.get("concurrency"), len(inflight.get(gate, {}))
        if most and count > int(most) and gate not in lowered:
            found.append(f"{count} jobs run that hold a place at {gate}, its concurrency is {most}")
    return found


def _turns(snap: Snapshot) -> list[str]:
    """Who waits at a gate and may run takes turns there, and nobody else does."""
    found = []
    turns = snap.under(snap.keys.turns(""))
    for queue, gate in lines(snap):
        slug, _, lane = queue.rpartition(".")
        if queue not in turns.get(gate, {}) and may_run(snap, slug, lane):
            found.append(f"{queue} waits at {gate}, may run, and has no turn")
    for gate, queues in turns.items():
        found += [f"{queue} has a turn at {gate} and no line" for queue in queues if (queue, gate) not in lines(snap)]
    found += [
        f"turned of {gate} is kept without turns" for gate in snap.under(snap.keys.turned("")) if gate not in turns
    ]
    return found


def _parked(snap: Snapshot) -> list[str]:
    """A gate with waiters is parked, unless only an event opens it. A tenant is parked no longer than it has to be."""
    parked = snap.get(snap.keys.parked())
    found = []
    for gate in snap.under(snap.keys.waiting("")):
        limits = snap.get(snap.keys.resource(gate))
        most, count = limits.get("concurrency"), len(snap.get(snap.keys.inflight_resource(gate)))
        by_event = limits.get("paused") == "1" or (limits.get("known") == "1" and most and count >= int(most))
        if not by_event and f"resource:{gate}" not in parked:
            found.append(f"jobs wait at {gate}, which may have room or gets it by time, and it is not parked")
    for slug, policy in snap.under(snap.keys.tenant("")).items():
        at, due = parked.get(f"tenant:{slug}"), _token_due(policy)
        if at is not None and due is not None and at > due + 1:
            found.append(f"{slug} is parked until {at}, and has a token at {due}")
    return found


def _token_due(policy: Mapping[str, str]) -> float | None:
    if not policy.get("rate") or "tokens" not in policy:
        return None
    gained_per_us = int(policy["rate"]) / (int(policy["rate_per"]) * 1000)
    return (int(policy["tokens_at"]) + max(0.0, 1 - float(policy["tokens"])) / gained_per_us) / 1000


def _hints(snap: Snapshot) -> list[str]:
    """What lets the hot path look nowhere is never wrong in saying that there is nothing."""
    cell, parked, found = snap.get(snap.keys.cell()), snap.get(snap.keys.parked()), []
    gates = set(snap.get(snap.keys.gates(), []))
    if parked and (not cell.get("parked") or float(cell["parked"]) > min(parked.values())):
        found.append(f"the cell says that {cell.get('parked')!r} is parked first, it is {min(parked.values())}")
    if any(gate.startswith("type:") for gate in gates) and cell.get("type_gates") != "1":
        found.append("there are gates of job types, and the cell does not say so")
    for queue in {queue for queue, _ in lines(snap)}:
        policy = snap.get(snap.keys.tenant(queue.rpartition(".")[0]))
        if "weight" in policy and policy.get("held") != "1":
            found.append(f"jobs of {queue} wait at gates, and its tenant's hash does not say so")
    unlisted = {gate for _, gate in lines(snap)} - gates
    return found + [f"{gate} has waiters and is not among the gates" for gate in sorted(unlisted)]


def may_run(snap: Snapshot, slug: str, lane: str) -> bool:
    """Whether the policy in force lets the tenant start one more job in this lane, and it is not parked for a token."""
    policy = snap.get(snap.keys.tenant(slug))
    if "weight" not in policy or policy.get("paused") == "1" or _is_parked(snap, slug):
        return False
    counts = {"cap": len(snap.get(snap.keys.inflight(slug))), f"cap:{lane}": len(snap.get(f"rq:wip:{slug}.{lane}"))}
    return all(not policy.get(name) or count < int(policy[name]) for name, count in counts.items())


def _is_parked(snap: Snapshot, slug: str) -> bool:
    """Whether the tenant has a rate and waits for a token."""
    return bool(snap.get(snap.keys.tenant(slug)).get("rate")) and f"tenant:{slug}" in snap.get(snap.keys.parked())


def lines(snap: Snapshot) -> dict[tuple[str, str], Any]:
    """(queue, gate) → the jobs of this queue that wait there."""
    found = snap.under(f"{snap.keys.prefix}:line:")
    return {(name.partition(":")[0], name.partition(":")[2]): ids for name, ids in found.items()}
