"""Fixtures of the page tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings

from jobops.contracts.decorator import job as contract
from jobops.contracts.registry import temporary_registry
from jobops.engine.client import Engine
from jobops.web import remembered
from jobops.web.selectors import outside, reach, snapshot
from tenants.models import Tenant
from tests.web.world import World


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test reads its own numbers, and reads them anew for each request."""
    monkeypatch.setattr(snapshot, "KEEP_S", 0.0)
    monkeypatch.setattr(remembered, "TIMES", 0)
    monkeypatch.setattr(reach, "AWAY_S", 0.0)
    monkeypatch.setattr(outside, "PARKED_KEEP_S", 0.0)
    snapshot.forget()
    yield
    snapshot.forget()


@pytest.fixture
def world(db: None, engine: Engine) -> World:
    """An empty world on this test's Redis and database."""
    assert settings.JOBOPS_REDIS_URL
    return World(engine)


@pytest.fixture
def send() -> Iterator[None]:
    """The job type of the world's letters, and no other."""
    with temporary_registry():

        @contract(name="shop.jobs.send", owner="billing", drain_sla="4h", idempotent="upserts by invoice id")
        def send(number: int) -> None: ...

        yield


@pytest.fixture
def acme(world: World) -> Tenant:
    """A tenant whose admins may replay."""
    return world.tenant("acme", may_replay=True)
