"""The engine of this process, which the runtime plugs in: this layer carries limits and pauses to it."""

from __future__ import annotations

from collections.abc import Callable

from jobops.engine.client import Engine
from jobops.limits.errors import NoEngine

_source: Callable[[], Engine] | None = None


def set_engine_source(source: Callable[[], Engine] | None) -> None:
    """Plug in what answers the engine of the calling process; the runtime does so once at start, None unplugs it."""
    global _source
    _source = source


def engine() -> Engine:
    """The engine of this process. Raises NoEngine when none is plugged in."""
    if _source is None:
        raise NoEngine
    return _source()
