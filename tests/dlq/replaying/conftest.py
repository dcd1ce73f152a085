"""The runtime on both stores, as its own tests have it."""

from __future__ import annotations

from tests.dlq.conftest import same_key_holders
from tests.runtime.conftest import both, calm_enqueuer

__all__ = ["both", "calm_enqueuer", "same_key_holders"]
