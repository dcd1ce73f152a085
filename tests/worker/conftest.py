"""A crew of real workers on this process's Redis, or on one of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobops.embedded import EmbeddedRedis
from jobops.engine.client import Engine, connect
from tests.conftest import LANES
from tests.worker.crew import Crew


@pytest.fixture
def crew(engine: Engine, redis_server: EmbeddedRedis, tmp_path: Path) -> Iterator[Crew]:
    crew = Crew(engine, redis_server.url, tmp_path)
    crew.tenant()
    yield crew
    crew.close()


@pytest.fixture
def own_crew(own_redis: EmbeddedRedis, tmp_path: Path) -> Iterator[Crew]:
    """On a Redis that the test may stop, restart or break."""
    engine = Engine(connect(own_redis.url), lanes=LANES)
    engine.prepare()
    crew = Crew(engine, own_redis.url, tmp_path)
    crew.tenant()
    yield crew
    crew.close()
    engine.redis.close()
