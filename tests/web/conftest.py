"""Fixtures of the page tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings

from jobops.engine.client import Engine
from jobops.web.selectors import outside, reach, snapshot
from tests.web.world import World


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test reads its own numbers, and reads them anew for each request."""
    monkeypatch.setattr(snapshot, "KEEP_S", 0.0)
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
