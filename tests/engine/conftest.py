"""The engine of these tests knows its lanes and two tenants; every test ends with the invariants checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from jobops.engine.records import Policy
from tests.engine import invariants

if TYPE_CHECKING:
    from jobops.engine.client import Engine
    from jobops.engine.scripts import Scripts


@pytest.fixture
def engine(engine: Engine, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """A prepared engine. Afterwards the invariants must hold, unless the test is marked as leaving a broken Redis."""
    engine.prepare()
    yield engine
    if not request.node.get_closest_marker("leaves_broken"):
        invariants.check(engine)


@pytest.fixture
def scripts(engine: Engine) -> Scripts:
    """The commands, with the tenants ``acme`` and ``beta`` known (no caps)."""
    for slug in ("acme", "beta"):
        engine.scripts.set_policy(Policy(slug, cap=None))
    return engine.scripts


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "leaves_broken: the test breaks Redis on purpose and leaves it so")
