"""What the overview says of the outbox: that enqueues go there since Redis is nearly full, and what is parked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from redis import Redis

from jobops.context import outbox
from jobops.context.models import OutboxEntry
from jobops.runtime.memory import memory_guard
from jobops.web.selectors import outside
from tenants.roles import Role
from tests.runtime.factory import new_job
from tests.web.test_overview import body
from tests.web.world import World


@pytest.fixture
def nearly_full(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Redis is at 91 % of its memory, as far as it tells."""
    told = {"used_memory": 91, "mem_not_counted_for_evict": 0, "maxmemory": 100}
    real = Redis.info
    monkeypatch.setattr(Redis, "info", lambda redis, *of: told if of == ("memory",) else real(redis, *of))
    monkeypatch.setattr(memory_guard(), "_engine", None)
    return world


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    memory_guard().__init__()  # type: ignore[misc]


def text_of(world: World, role: Role = Role.STAFF_VIEWER) -> str:
    return " ".join(body(world.client(role)).replace("\xa0", " ").split())


def test_while_redis_is_nearly_full_it_says_where_enqueues_go(nearly_full: World) -> None:
    """RD-01"""
    outbox.write([new_job(), new_job()])
    text = text_of(nearly_full)
    assert "Enqueues go to the outbox: Redis is at 91 % of its memory.</b> 2 jobs wait there;" in text
    OutboxEntry.objects.first().delete()  # type: ignore[union-attr]
    assert "1 job waits there;" in text_of(nearly_full)


def test_the_page_counts_no_further_than_it_must(nearly_full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "MOST_COUNTED", 3)
    outbox.write([new_job() for _ in range(5)])
    assert "3 jobs or more wait there;" in text_of(nearly_full)


def test_when_there_is_room_it_says_nothing(world: World) -> None:
    outbox.write([new_job()])
    assert "outbox" not in text_of(world)


def test_parked_rows_are_told_until_a_person_has_decided(world: World) -> None:
    """OB-05"""
    jobs = [new_job(), new_job()]
    outbox.write(jobs)
    OutboxEntry.objects.update(state="parked", parked_as="refused")
    assert "2 jobs in the outbox are parked.</b> Nobody pushes them until a person decides" in text_of(world)
    OutboxEntry.objects.filter(pk=jobs[0].id).update(state="cancelled")
    assert "1 job in the outbox is parked.</b> Nobody pushes it" in text_of(world)
    OutboxEntry.objects.filter(pk=jobs[1].id).update(state="cancelled")
    assert "parked" not in text_of(world)


def test_a_tenants_people_are_not_told_of_the_machine(nearly_full: World) -> None:
    tenant = nearly_full.tenant("acme")
    outbox.write([new_job()])
    OutboxEntry.objects.update(state="parked")
    text = " ".join(body(nearly_full.client(Role.TENANT_ADMIN, tenant)).split())
    assert "outbox" not in text
    assert "memory" not in text


def test_parked_rows_are_looked_for_now_and_then_only(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding them reads the whole outbox."""
    monkeypatch.setattr(outside, "PARKED_KEEP_S", 60.0)
    outside.forget()
    with CaptureQueriesContext(connection) as queries:
        for _ in range(5):
            outside.outside()
    assert len(queries) == 1
    outside.forget()
