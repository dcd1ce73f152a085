"""A whole installation that is right: Redis with its append-only file, a scheduler that leads, a worker, one tenant."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobops.doctor.site import Site
from jobops.engine.client import Engine
from jobops.runtime import enqueuer, get_engine
from jobops.scheduling.duties import Context
from jobops.steward import policies
from tests.doctor import plant
from tests.runtime import factory


@pytest.fixture
def site(transactional_db: None, engine: Engine) -> Iterator[Site]:
    """The tenant ``acme`` in both stores, everything in order, and no patience: nothing is on its way here."""
    enqueuer().__init__()  # type: ignore[misc]
    engine = get_engine()
    factory.tenant(cap=None)
    policies.run(Context(engine))
    plant.scheduler(engine)
    plant.worker(engine)
    kept = engine.redis.config_get("*")
    yield Site(engine, grace_s=0.0)
    for name in ("maxmemory-policy", "appendonly", "appendfsync"):
        engine.redis.config_set(name, kept[name])
