"""Whose turn comes before a job's, and whether anybody is there to run it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobops.contracts.catalog.words import plural
from jobops.engine.registrations import LOST_AFTER
from jobops.engine.why_facts import MOST_AHEAD, Gate, WhyFacts, WorkerFacts
from jobops.runtime.why_records import Kind, Link, Reason


def crew(facts: WhyFacts, lane: str, job_type: str) -> Iterator[Reason]:
    """What is wrong with the workers: nobody serves the lane, or nobody there knows the job's type."""
    if not facts.known_lane:
        yield Reason(Kind.LANE_UNKNOWN, f"The lane {lane} is not one that Redis knows.", name=lane)
        return
    living = [worker for worker in facts.workers if is_living(worker)]
    serving = [worker for worker in living if lane in worker.lanes]
    able = [worker for worker in serving if not worker.draining]
    if not able:
        yield Reason(Kind.NO_WORKER, _no_worker(facts.workers, living, serving, lane), name=lane)
    elif all(worker.knows is False for worker in able):
        whom = "The worker that serves" if len(able) == 1 else f"None of the {len(able)} workers that serve"
        knows = "does not know" if len(able) == 1 else "knows"
        text = f"{whom} the lane {lane} {knows} the job type {job_type}."
        yield Reason(Kind.TYPE_UNKNOWN, text, name=job_type, count=len(able))


def is_living(worker: WorkerFacts) -> bool:
    """Whether it reported lately."""
    return not worker.lost and worker.silent_ms <= LOST_AFTER * worker.heartbeat_ms


def _no_worker(
    known: Sequence[WorkerFacts], living: Sequence[WorkerFacts], serving: Sequence[WorkerFacts], lane: str
) -> str:
    if serving:
        return f"All workers that serve the lane {lane} are draining: they take no more jobs."
    if living:
        return f"No living worker serves the lane {lane}."
    return "No worker has reported lately." if known else "No worker is running."


def turns(facts: WhyFacts, slug: str, lane: str) -> Iterator[Reason]:
    """Which jobs come before this one that waits: at its gate, in its queue, or of other tenants."""
    gate = next((gate for gate in facts.gates if gate.rank is not None), None)
    if gate is not None:
        yield from _in_line(gate)
    else:
        yield from _in_queue(facts, slug, lane)
    slots = slots_of(facts, lane)
    if slots and not facts.idle_slots:
        yield Reason(Kind.SLOTS_BUSY, _busy(slots, lane, facts.turn), name=lane, count=slots)


def _in_line(gate: Gate) -> Iterator[Reason]:
    """``count``: how many come before it; of its own queue alone where others cannot be counted."""
    name = gate.job_type or gate.name
    link = Link("type" if gate.job_type else "resource", name)
    own, others = gate.own, gate.others
    if others is None:
        rest = max(0, gate.waiting - own - 1)
        text = f"{plural(own, 'job')} of its own queue, and by turns some of {rest:,} more, come before it at {name}."
        yield Reason(Kind.BEHIND_AT_GATE, text, name=name, count=own, link=link)
    elif own or others:
        whose = f"{plural(own, 'job')} of its own queue" if own else ""
        if others:
            whose += f"{' and ' if own else ''}{plural(others, 'job')} of other queues, which take turns with it,"
        come = "comes" if own + others == 1 else "come"
        text = f"{whose} {come} before it at {name}."
        yield Reason(Kind.BEHIND_AT_GATE, text, name=name, count=own + others, link=link)


def slots_of(facts: WhyFacts, lane: str) -> int:
    """Slots that serve the lane and claim jobs."""
    return sum(w.slots for w in facts.workers if lane in w.lanes and is_living(w) and not w.draining)


def _in_queue(facts: WhyFacts, slug: str, lane: str) -> Iterator[Reason]:
    others = sum(depth for name, depth in (facts.depths or {}).items() if name != lane)
    also = f"; {others:,} more wait{'s' if others == 1 else ''} in its other lanes" if others else ""
    if facts.position is None:
        if (facts.depths or {}).get(lane, 0) > MOST_AHEAD:
            text = f"Over {MOST_AHEAD:,} jobs of its tenant {slug} are before it in the lane {lane}{also}."
            yield Reason(Kind.BEHIND, text, name=slug, count=MOST_AHEAD, link=Link("tenant", slug))
    elif facts.position:
        are = "is" if facts.position == 1 else "are"
        text = f"{plural(facts.position, 'job')} of its tenant {slug} {are} before it in the lane {lane}{also}."
        yield Reason(Kind.BEHIND, text, name=slug, count=facts.position, link=Link("tenant", slug))


def _busy(slots: int, lane: str, turn: int | None) -> str:
    all_slots = "The one slot that serves" if slots == 1 else f"All {slots:,} slots that serve"
    which = f"{all_slots} the lane {lane} {'is' if slots == 1 else 'are'} busy"
    if turn is None:
        return f"{which}."
    if not turn:
        return f"{which}; its tenant’s turn is next."
    others = "1 other tenant’s turn comes" if turn == 1 else f"{turn:,} other tenants’ turns come"
    return f"{which}; {others} before its own."
