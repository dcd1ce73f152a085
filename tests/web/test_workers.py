"""Workers, ``/workers/``."""

from __future__ import annotations

import pytest
from django.test import Client

from jobops.engine.registrations import mark_lost, supervisors_key
from tenants.roles import Role
from tests.web.world import World


def body(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_without_a_worker_it_says_how_to_start_one(world: World) -> None:
    text = world.client(Role.STAFF_VIEWER).get("/workers/").content.decode()
    assert "<h1>No worker is running.</h1>" in text
    assert "manage.py worker --processes 2" in text


def test_slots_show_their_job_and_lost_workers_stand_out(world: World) -> None:
    world.tenant("acme")
    world.enqueue("acme")
    job = world.claim()
    world.worker(slots=3, busy=job.id)
    world.worker(slots=2, name="w-gone")
    mark_lost(world.engine, "w-gone")
    text = world.client(Role.ON_CALL).get("/workers/").content.decode()
    assert "<h1>1 of 3 slots is busy on 1 worker; 1 worker is lost.</h1>" in text
    assert f'href="/jobs/{job.id}/"' in text
    lost = text[text.index('id="w-w-gone"') :]
    assert lost.count("Lost") == 3
    overview = world.client(Role.ON_CALL).get("/").content.decode()
    assert "slots in use; 1 worker, 1 lost" in overview


def test_a_job_whose_worker_is_gone_takes_no_slot_and_all_is_not_well(world: World) -> None:
    world.tenant("acme", cap=None)
    for _ in range(3):
        world.enqueue("acme")
    for _ in range(2):
        world.claim()
    held = world.claim()
    world.engine.redis.hset(world.engine.keys.lease(held.id), "worker", "w-1.0")
    world.worker(slots=2, busy=held.id)
    text = body(world.client(Role.STAFF_VIEWER), "/")
    assert "<span>1</span><small>/ 2</small>" in text
    assert "2 jobs’ workers are gone, they go on within" in text
    assert "all well" not in text


def test_a_slot_that_its_supervisor_does_not_list_yet_is_not_gone(world: World) -> None:
    world.tenant("acme")
    world.enqueue("acme")
    held = world.claim()
    world.engine.redis.hset(world.engine.keys.lease(held.id), "worker", "w-1-7.1")
    world.worker(slots=2)
    text = body(world.client(Role.STAFF_VIEWER), "/")
    assert "gone" not in text
    assert "all well" in text


@pytest.mark.parametrize(
    ("uptime", "silent_s", "says"),
    [
        (4, 60, "Workers have not reported since Redis came back, and 1 job waits."),
        (900, 15, "No worker has reported for 15"),
        (900, 60, "No worker is running, and 1 job waits."),
    ],
)
def test_workers_that_have_not_reported_yet_are_not_called_gone(
    world: World, monkeypatch: pytest.MonkeyPatch, uptime: int, silent_s: int, says: str
) -> None:
    world.tenant("acme")
    world.enqueue("acme")
    world.worker()
    engine = world.engine
    engine.redis.zadd(supervisors_key(engine.keys), {"w-1": engine.scripts.now_ms() - silent_s * 1000})
    monkeypatch.setattr("redis.Redis.info", lambda *_, **__: {"uptime_in_seconds": uptime})
    assert f"<h1>{says}" in body(world.client(Role.ON_CALL), "/")
    assert f"<h1>{says}" in body(world.client(Role.ON_CALL), "/workers/")
