"""The slot's own connection for its claims and settles."""

from __future__ import annotations

from jobops.engine.client import Engine
from jobops.engine.scripts import Scripts


def slot_scripts(engine: Engine) -> Scripts:
    """The engine's commands over a connection that nobody else uses, as long as one thread calls them."""
    return Scripts(engine.redis, engine.keys)
