"""`keep_results`: of each tenant's finished jobs of a type only so many are kept, whatever their age."""

from __future__ import annotations

from collections.abc import Sequence

from jobops.engine.client import Engine
from jobops.engine.records import Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, job, status
from tests.engine.virtual_time import START_US, virtual

FINISHED = "rq:finished:acme.bulk"


def run(scripts: Scripts, *ids: str, tenant: str = "acme", **fields: object) -> None:
    slot = Slot(scripts, f"slot-{ids[0]}")
    for id_ in ids:
        scripts.enqueue(job(id_, tenant, **fields))
        assert slot.run() == "succeeded"


def there(engine: Engine, ids: Sequence[str]) -> list[str]:
    return [id_ for id_ in ids if engine.redis.exists(f"rq:job:{id_}")]


def numbered(count: int, prefix: str = "j") -> list[str]:
    return [f"{prefix}{number:03}" for number in range(count)]


def test_the_newest_are_kept_and_no_ghost_id_stays_in_the_registry(engine: Engine, scripts: Scripts) -> None:
    """RT-07: what a registry lists is there. UP-06: at the cap and one beyond it the newest are listed."""
    ids = numbered(12)
    run(scripts, *ids[:10], keep=10)
    assert there(engine, ids) == ids[:10]
    run(scripts, ids[10], keep=10)
    run(scripts, ids[11], keep=10)
    assert there(engine, ids) == ids[2:]
    assert sorted(member.decode() for member in engine.redis.zrange(FINISHED, 0, -1)) == ids[2:]


def test_one_tenant_and_one_type_never_push_out_the_results_of_another(engine: Engine, scripts: Scripts) -> None:
    run(scripts, "acme-a", keep=2)
    run(scripts, "acme-other", job_type="t.other", keep=2)
    run(scripts, *numbered(20, "b"), tenant="beta", keep=2)
    run(scripts, "acme-b", keep=2)
    assert there(engine, ["acme-a", "acme-b", "acme-other"]) == ["acme-a", "acme-b", "acme-other"]
    assert there(engine, numbered(20, "b")) == ["b018", "b019"]


def test_a_lowered_number_is_reached_little_by_little(engine: Engine, scripts: Scripts) -> None:
    ids = numbered(50)
    run(scripts, *ids, keep=50)
    run(scripts, "n1", keep=5)
    assert len(there(engine, ids)) == 34, "at most so many are forgotten in one step"
    run(scripts, "n2", "n3", "n4", keep=5)
    assert there(engine, [*ids, "n1", "n2", "n3", "n4"]) == ["j049", "n1", "n2", "n3", "n4"]
    assert engine.redis.zcard(FINISHED) == 5
    assert engine.redis.zcard(engine.keys.kept("acme", "t.work")) == 5


def test_a_job_of_another_lane_leaves_the_registry_of_its_own_queue(engine: Engine, scripts: Scripts) -> None:
    run(scripts, "urgent", lane="interactive", keep=1)
    run(scripts, "later", keep=1)
    assert there(engine, ["urgent", "later"]) == ["later"]
    assert engine.redis.zcard("rq:finished:acme.interactive") == 0


def test_one_that_runs_again_is_not_taken_away(engine: Engine, scripts: Scripts) -> None:
    run(scripts, "a", keep=1)
    engine.redis.hset("rq:job:a", "status", "queued")  # as RQ's own requeue does
    run(scripts, "b", keep=1)
    assert status(engine, "a") == "queued"
    engine.redis.delete("rq:job:a")


def test_a_failed_job_is_no_result(engine: Engine, scripts: Scripts) -> None:
    run(scripts, "a", keep=1)
    scripts.enqueue(job("dies", keep=1, max_attempts=1))
    assert Slot(scripts).run(BOOM) == "dead"
    assert there(engine, ["a", "dies"]) == ["a", "dies"]


def test_the_list_goes_with_the_last_result(engine: Engine, scripts: Scripts) -> None:
    """UP-06: a type or a tenant that is no more leaves nothing."""
    run(scripts, "long", keep=5, result_ttl_s=900)
    run(scripts, "short", keep=5, result_ttl_s=60)
    kept = engine.keys.kept("acme", "t.work")
    assert 880 < engine.redis.ttl(kept) <= 900


def test_a_key_of_another_kind_keeps_no_job_from_ending(engine: Engine, scripts: Scripts) -> None:
    engine.redis.set(engine.keys.kept("acme", "t.work"), "a string")
    run(scripts, "a", keep=1)
    assert status(engine, "a") == "finished"


def test_rqs_list_of_finished_jobs_forgets_those_whose_time_is_over(engine: Engine) -> None:
    """Looked after at the ends of jobs, now and then: at every instant that sixteen divides."""
    virtual(engine)
    engine.scripts.set_policy(Policy("acme", cap=None))
    engine.redis.zadd(FINISHED, {"long-gone": START_US // 1_000_000 - 1})
    engine.scripts.enqueue(job("a"))
    Slot(engine.scripts).run()
    assert engine.redis.zrange(FINISHED, 0, -1) == [b"a"]
