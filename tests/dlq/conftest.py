"""The runtime on both stores, as its own tests have it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq.ports import key_holders, set_key_holders
from tests.runtime.conftest import both, calm_enqueuer

__all__ = ["both", "calm_enqueuer"]


@pytest.fixture(autouse=True)
def same_key_holders() -> Iterator[None]:
    """No test leaves its own way of looking keys up to the next one."""
    before = key_holders()
    yield
    set_key_holders(before)
