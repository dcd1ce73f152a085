"""Another team's plain RQ, beside our own stores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils import timezone
from pytest_django import Settings
from redis import Redis

from dlq.foreign.sources import Source
from dlq.foreign.watching import Watch
from dlq.models import ReplayRun
from jobops.embedded import EmbeddedRedis
from tests.dlq.foreign.home import Look
from tests.dlq.foreign.plain_rq import PlainRQ


@pytest.fixture
def plain(own_redis: EmbeddedRedis, settings: Settings) -> Iterator[PlainRQ]:
    """An empty installation, which the settings call ``old``."""
    settings.JOBOPS_RQ_SOURCES = {"old": own_redis.url}
    with Redis.from_url(own_redis.url, socket_timeout=10) as client:
        yield PlainRQ(own_redis, client, Source("old", own_redis.url))


@pytest.fixture
def look() -> Look:
    """One look at all replays, as if their time had come; by a watch that knows of no outage."""

    def run() -> int:
        ReplayRun.objects.update(check_at=timezone.now())
        return Watch().run()

    return run
