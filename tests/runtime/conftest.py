"""Fixtures of the runtime's tests: an empty Redis and a real database, both as the runtime itself finds them."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from jobops.embedded import EmbeddedRedis
from jobops.engine.client import Engine
from jobops.runtime import enqueuer, get_engine
from jobops.runtime.memory import memory_guard
from tests.runtime import factory
from tests.tools import wait_for


@pytest.fixture
def both(transactional_db: None, engine: Engine) -> Engine:
    """The runtime's engine on the test Redis, with the tenant ``acme`` in both stores."""
    engine = get_engine()
    factory.tenant()
    return engine


@pytest.fixture(autouse=True)
def calm_enqueuer() -> None:
    """No test inherits the outage of another one."""
    enqueuer().__init__()  # type: ignore[misc]
    memory_guard().__init__()  # type: ignore[misc]


class Outage:
    """A Redis of its own under the runtime, to be taken away and brought back."""

    def __init__(self, server: EmbeddedRedis, settings: Settings) -> None:
        self.server = server
        settings.JOBOPS_REDIS_URL = server.url
        self.engine = get_engine()
        self.engine.prepare()

    def begin(self) -> None:
        self.server.kill()

    def end(self) -> None:
        self.server.start()
        wait_for(self.engine.redis.ping, what="Redis")


@pytest.fixture
def outage(own_redis: EmbeddedRedis, settings: Settings, transactional_db: None) -> Outage:
    """A private Redis, with the tenant ``acme`` in both stores."""
    outage = Outage(own_redis, settings)
    factory.tenant()
    return outage
