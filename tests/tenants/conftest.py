"""Fixtures: what policies are pushed to, put back after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobops.engine.client import Engine
from tenants import policy
from tests.tenants.fakes import Recorder


@pytest.fixture
def pusher() -> Iterator[Recorder]:
    """A pusher that remembers what it was given."""
    before, recorder = policy._pusher, Recorder()
    policy.set_pusher(recorder)
    yield recorder
    policy.set_pusher(before)


@pytest.fixture
def plugged(engine: Engine) -> Iterator[Engine]:
    """A real engine on an empty Redis, which policies are pushed to."""
    before = policy._pusher
    policy.set_pusher(engine.scripts)
    yield engine
    policy.set_pusher(before)
