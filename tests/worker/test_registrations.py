"""Who is shown as a worker: those that live, each once; the dead as lost, and not for long."""

from __future__ import annotations

import os
import signal
import time

from rq import Worker as RqWorker

from jobops.engine.processes import is_alive
from jobops.engine.registrations import (
    PRUNED_AFTER,
    SupervisorReport,
    announce,
    rq_worker,
    supervisor_key,
    supervisors_key,
)
from jobops.engine.worker_views import prune
from tests.tools import wait_for
from tests.worker.crew import Crew


def rq_workers(crew: Crew) -> list[RqWorker]:
    return RqWorker.all(connection=crew.engine.redis)


def report(
    crew: Crew, name: str, *, host: str = "elsewhere", pid: int = 1, heartbeat_ms: int = 500
) -> SupervisorReport:
    return SupervisorReport(
        id=name,
        host=host,
        pid=pid,
        lanes=("bulk",),
        started_at_ms=1,
        heartbeat_ms=heartbeat_ms,
        draining=False,
        jobs=0,
        version="",
    )


def test_rq_shows_every_slot_with_its_state(crew: Crew) -> None:
    crew.start(processes=2)
    slots = crew.wait_slots(2)
    job = crew.enqueue("sleep", seconds=2)
    crew.wait_mark("start", job)

    def states() -> list[str]:
        return sorted(worker.get_state() for worker in rq_workers(crew))

    wait_for(lambda: states() == ["busy", "idle"], what="the next heartbeat to say who is busy")
    workers = rq_workers(crew)
    assert sorted(worker.name for worker in workers) == sorted(slot.name for slot in slots)
    assert {worker.pid for worker in workers} == {slot.pid for slot in slots}
    busy = next(slot for slot in crew.slots() if slot.state == "busy")
    assert busy.job_id == job
    crew.wait_end(job)
    wait_for(lambda: sum(worker.successful_job_count for worker in rq_workers(crew)) == 1, what="the count of jobs")
    wait_for(lambda: states() == ["idle", "idle"], what="the next heartbeat to say that none is")


def test_a_killed_slot_leaves_no_entry_behind(crew: Crew) -> None:
    crew.start(processes=2)
    pid = crew.wait_slots(2)[0].pid
    os.kill(pid, signal.SIGKILL)
    wait_for(
        lambda: (slots := crew.slots()) and len(slots) == 2 and pid not in {slot.pid for slot in slots},
        what="the replacement",
    )
    wait_for(lambda: len(rq_workers(crew)) == 2, what="two RQ workers")
    assert crew.engine.redis.scard("rq:workers") == 2


def test_a_killed_worker_is_shown_as_lost_and_its_job_is_recovered(crew: Crew) -> None:
    """LS-06: within two heartbeats, though its lease would last much longer. The next start shows only itself."""
    worker = crew.start(processes=4)
    crew.wait_slots(4)
    job = crew.enqueue("sleep", seconds=60, fields={"lease_ms": 60_000})
    crew.wait_mark("start", job)
    worker.kill()
    began = time.monotonic()
    wait_for(lambda: [view.state for view in crew.supervisors()] == ["lost"], what="lost")
    wait_for(lambda: crew.running() == 0 and crew.job(job).state == "queued", what="the recovery")
    assert time.monotonic() - began < 5
    assert {slot.state for slot in crew.slots()} == {"lost"}
    crew.start(processes=4)
    wait_for(lambda: [view.state for view in crew.supervisors()] == ["running"], what="only the new one")
    crew.wait_slots(4)
    assert len(crew.slots()) == 4
    assert len(rq_workers(crew)) == 4


def test_a_host_that_disappeared_is_shown_as_lost_and_then_forgotten(crew: Crew) -> None:
    """LS-06: nobody is left to say anything. Lost after two heartbeats; the restarted eight are eight, not sixteen."""
    worker = crew.start(processes=8)
    crew.wait_slots(8)
    job = crew.enqueue("sleep", seconds=60)
    crew.wait_mark("start", job)
    family = worker.children()
    os.kill(worker.pid, signal.SIGSTOP)
    for pid in family:
        os.kill(pid, signal.SIGKILL)
    worker.kill()
    wait_for(lambda: not any(map(is_alive, family)), what="the end of all")
    wait_for(lambda: [view.state for view in crew.supervisors()] == ["lost"], seconds=3, what="lost")
    crew.start(processes=8)
    crew.wait_slots(8)
    assert len(crew.slots()) == 8
    assert len(rq_workers(crew)) == 8
    assert crew.wait_mark("start", job, count=2, seconds=30)[1].attempt == 2


def test_a_supervisor_elsewhere_is_forgotten_after_many_missed_heartbeats(crew: Crew) -> None:
    announce(crew.engine, report(crew, "gone"), [])
    announce(crew.engine, report(crew, "silent"), [])
    announce(crew.engine, report(crew, "well"), [])
    now = crew.engine.scripts.now_ms()
    key = supervisors_key(crew.engine.keys)
    crew.engine.redis.zadd(key, {"gone": now - 500 * (PRUNED_AFTER + 1), "silent": now - 1100})
    assert {view.id: view.state for view in crew.supervisors()} == {"gone": "lost", "silent": "lost", "well": "running"}
    assert prune(crew.engine, host="here") == ["gone"]
    assert {view.id for view in crew.supervisors()} == {"silent", "well"}
    assert not crew.engine.redis.exists(supervisor_key(crew.engine.keys, "gone"))


def test_a_slot_whose_supervisor_is_unknown_is_no_rq_worker_any_more(crew: Crew) -> None:
    """It registered itself after its supervisor's last word; plain RQ workers are none of our business."""
    names = ["host-0123abcd-1.1", "host-89ef4567-2.13", "plain-rq-worker"]
    for name in names:
        crew.engine.redis.sadd("rq:workers", rq_worker(name))
        crew.engine.redis.hset(rq_worker(name), "state", "idle")
    announce(crew.engine, report(crew, "host-89ef4567"), [])
    prune(crew.engine)
    assert {worker.name for worker in rq_workers(crew)} == {"host-89ef4567-2.13", "plain-rq-worker"}


def test_a_flushed_redis_gets_its_records_back(crew: Crew) -> None:
    crew.start(processes=2)
    crew.wait_slots(2)
    crew.engine.redis.flushall()
    crew.wait_slots(2)
    wait_for(lambda: len(rq_workers(crew)) == 2, what="the RQ workers")


def test_a_slot_is_announced_only_once_it_registered_itself(crew: Crew) -> None:
    crew.start()
    (slot,) = crew.wait_slots(1)
    fields = crew.engine.redis.hgetall(rq_worker(slot.name))
    assert fields[b"queues"] == b""
    assert b"ip_address" in fields
    assert 0 < crew.engine.redis.ttl(rq_worker(slot.name)) < 120
