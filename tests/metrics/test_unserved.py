"""RD-02: jobs that no worker will ever take are found, whatever queue a release has put them in."""

from __future__ import annotations

from jobops.engine.client import Engine
from jobops.engine.records import NewJob, Policy
from jobops.metrics.unserved import StrayReader, stray_queues, unserved_lanes


def put(engine: Engine, queue: str, jobs: int = 50) -> None:
    engine.redis.sadd("rq:queues", f"rq:queue:{queue}")
    engine.redis.rpush(f"rq:queue:{queue}", *(f"{queue}-{n}" for n in range(jobs)))


def enqueue(engine: Engine, lane: str, jobs: int = 3) -> None:
    engine.scripts.set_policy(Policy("acme"))
    for n in range(jobs):
        engine.scripts.enqueue(NewJob(f"{lane}-{n}", "acme", lane, "t", b"[]"))


def test_a_queue_that_nothing_knows_is_found(engine: Engine) -> None:
    """RD-02: push 50 to a new queue name."""
    put(engine, "renamed")
    put(engine, "acme.newlane", 7)
    put(engine, "empty", 1)
    engine.redis.delete("rq:queue:empty")
    enqueue(engine, "bulk")
    assert [(each.kind, each.name, each.depth) for each in stray_queues(engine)] == [
        ("queue", "renamed", 50),
        ("queue", "acme.newlane", 7),
    ]
    text = stray_queues(engine)[0].text
    assert text == "50 jobs wait in queue renamed, which is no queue of a tenant and a lane here: no worker serves it"


def test_a_plain_queue_with_a_worker_of_plain_rq_is_no_stray(engine: Engine) -> None:
    put(engine, "default")
    engine.redis.sadd("rq:workers:default", "rq:worker:someone")
    assert stray_queues(engine) == []


def test_keys_of_other_kinds_and_names_of_any_bytes_stop_nothing(engine: Engine) -> None:
    engine.redis.sadd("rq:queues", b"rq:queue:\xff\xfe", "nonsense", "rq:queue:odd")
    engine.redis.set("rq:queue:odd", "no list")
    put(engine, "renamed", 1)
    assert [each.name for each in stray_queues(engine)] == ["renamed"]


def test_a_lane_with_jobs_and_no_living_worker_is_found_also_a_former_one(engine: Engine) -> None:
    enqueue(engine, "bulk")
    engine.scripts.set_lanes({"former": 1.0})
    enqueue(engine, "former", 1)
    assert unserved_lanes(engine, {"interactive", "bulk", "former"}) == []
    found = unserved_lanes(engine, {"interactive"})
    assert [(each.kind, each.name, each.depth, each.former) for each in found] == [
        ("lane", "bulk", 3, False),
        ("lane", "former", 1, True),
    ]
    assert found[0].text == (
        "3 jobs wait in lane bulk, and no living worker serves it: start one with `manage.py worker --lanes bulk`"
    )
    assert "1 job waits in lane former, which JOBOPS_LANES no longer names" in found[1].text


def test_pages_do_not_look_through_all_queues_each_second(engine: Engine) -> None:
    reader = StrayReader()
    assert reader.read(engine) == []
    put(engine, "renamed")
    assert reader.read(engine) == []
    reader.forget()
    assert [each.name for each in reader.read(engine)] == ["renamed"]
