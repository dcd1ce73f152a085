"""Where a job's id may stand, and what is wrong when it stands elsewhere. Pure: of one atomic look at one job."""

from __future__ import annotations

from jobops.engine.records import Whereabouts

ENDED = ("finished", "canceled", "stopped", "failed")
LIVE = ("queued", "rate_limited", "scheduled", "started")


def verdict(seen: Whereabouts) -> tuple[str, str] | None:
    """Code and text of what is wrong, or None. Deaths are judged elsewhere: only the database knows its letters."""
    if not seen.status:
        return _without_record(seen)
    places = _places(seen)
    shown = " and ".join(places) or "nowhere"
    if seen.status in ENDED:
        return _ended(seen, places, shown)
    if seen.status not in LIVE:
        return None  # RQ's own states
    if seen.status == "started" and not (seen.lease and seen.lease_hash):
        beside = f", and stands in {shown}" if places else ""
        return "job_without_lease", f"it is marked as running, but no whole lease speaks for it{beside}"
    if not places:
        return "in_no_list", f"it is {seen.status}, but stands nowhere: nothing will ever run it"
    if len(places) > 1:
        return "in_two_lists", f"it is {seen.status} and stands in {shown}: it may run twice"
    if places[0] != _right_place(seen):
        return "in_two_lists", f"it is {seen.status}, but stands in {shown}, not in {_right_place(seen)}"
    if seen.status == "rate_limited" and not seen.held:
        return "in_no_list", "it waits at a gate, but its queue does not count it: its depth and age are wrong"
    if seen.status == "started" and not (seen.inflight and seen.wip):
        return "job_without_lease", "its lease is whole, but it is not counted in flight: one more may run than the cap"
    return None


def _without_record(seen: Whereabouts) -> tuple[str, str] | None:
    if seen.lease or seen.lease_hash:
        return "lease_without_job", "it has a lease, but its record is gone: evicted, or deleted by an outsider"
    if seen.inflight or seen.wip:
        return "lease_without_job", "it takes a place in its tenant's cap, but there is neither a job nor a lease"
    if seen.in_queues or seen.delayed or seen.waiting or seen.held:
        where = " and ".join(_places(seen))
        return "entry_without_job", f"it stands in {where}, but its record is gone: evicted, or deleted by an outsider"
    return None


def _ended(seen: Whereabouts, places: list[str], shown: str) -> tuple[str, str] | None:
    if seen.lease or seen.lease_hash or seen.inflight or seen.wip:
        return "lease_without_job", f"it ended ({seen.status}), but a lease or a place in flight is left of it"
    if places:
        return "ended_in_list", f"it ended ({seen.status}), but stands in {shown}"
    return None


def _places(seen: Whereabouts) -> list[str]:
    places = [f"queue {queue}" for queue in seen.in_queues]
    extra = seen.queue_count - len(places)  # in one queue more than once
    places += ["a queue once more"] * extra
    if seen.delayed:
        places.append("the delayed jobs")
    places += [f"the waiting room of {gate}" for gate in seen.waiting]
    if seen.held and not seen.waiting:
        places.append("its queue's list of those that wait at gates")
    if seen.lease:
        places.append("a lease")
    return places


def _right_place(seen: Whereabouts) -> str:
    return {
        "queued": f"queue {seen.tenant}.{seen.lane}",
        "rate_limited": f"the waiting room of {seen.waits}",
        "scheduled": "the delayed jobs",
        "started": "a lease",
    }[seen.status]
