"""The runtime on both stores, as its own tests have it."""

from tests.runtime.conftest import both, calm_enqueuer

__all__ = ["both", "calm_enqueuer"]
