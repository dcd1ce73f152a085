"""Workers, ``/workers/``."""

from __future__ import annotations

from jobops.engine.registrations import mark_lost
from tenants.roles import Role
from tests.web.world import World


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
