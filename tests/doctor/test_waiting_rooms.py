"""I1 for jobs that wait at a gate: wherever they are missing or stand as well is found and mended."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jobops.doctor.site import Site
from jobops.engine import keys as rq
from tests.doctor.plant import look, mended, waiting_job
from tests.engine import invariants
from tests.runtime.factory import claim, run_all

ROOM = "vault"


@pytest.fixture
def waits(site: Site) -> str:
    """The second of three jobs of acme that wait at a gate with no room."""
    site.engine.scripts.set_limit(ROOM, 0, None)
    jobs = [waiting_job(site.engine, resource=ROOM) for _ in range(3)]
    assert claim(site.engine) is None
    assert look(site) == []
    return jobs[1]


def _nowhere(site: Site, job_id: str) -> None:
    keys = site.engine.keys
    for key in (keys.waiting(ROOM), keys.held("acme", "interactive"), keys.line("acme.interactive", ROOM)):
        assert site.engine.redis.zrem(key, job_id) == 1


def _not_counted(site: Site, job_id: str) -> None:
    assert site.engine.redis.zrem(site.engine.keys.held("acme", "interactive"), job_id) == 1


def _in_its_queue(site: Site, job_id: str) -> None:
    site.engine.redis.lpush(rq.rq_queue("acme.interactive"), job_id)
    site.engine.scripts.reconcile("acme.interactive")


def _delayed(site: Site, job_id: str) -> None:
    site.engine.redis.zadd(rq.RQ_SCHEDULED, {job_id: 4_000_000_000})


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (_nowhere, "in_no_list"),
        (_not_counted, "in_no_list"),
        (_in_its_queue, "in_two_lists"),
        (_delayed, "in_two_lists"),
    ],
)
def test_it_is_put_back_into_its_place_and_runs_when_there_is_room(
    site: Site, waits: str, harm: Callable[[Site, str], None], code: str
) -> None:
    harm(site, waits)
    mended(site, (code, waits))
    invariants.check(site.engine)
    site.engine.scripts.set_limit(ROOM, 1, None)
    assert run_all(site.engine)[1] == waits


def test_one_that_ended_and_is_left_in_the_room_is_taken_out(site: Site, waits: str) -> None:
    site.engine.redis.hset(rq.rq_job(waits), mapping={"status": "stopped", "jo_outcome": ""})
    site.engine.redis.expire(rq.rq_job(waits), 600)
    mended(site, ("ended_in_list", waits))
    invariants.check(site.engine)


def test_an_entry_without_a_job_is_taken_out(site: Site, waits: str) -> None:
    site.engine.redis.delete(rq.rq_job(waits))
    mended(site, ("entry_without_job", waits))
    invariants.check(site.engine)


def test_a_tenant_without_a_token_is_rightly_out_of_the_ring(site: Site) -> None:
    engine = site.engine
    engine.redis.hset(engine.keys.tenant("acme"), mapping={"rate": 1, "rate_per": 60_000})
    waiting_job(engine)
    waiting_job(engine)
    assert claim(engine) is not None
    assert claim(engine) is None
    found = [code for code, _ in look(site)]
    assert "ring_out_of_date" not in found
