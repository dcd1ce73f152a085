"""The composition root: the engine of this process, made from the settings, with the other layers plugged into it."""

from jobops.runtime.engine import get_engine
from jobops.runtime.enqueuer import RuntimeEnqueuer, enqueuer
from jobops.runtime.lookup import lookup
from jobops.runtime.plug import install

__all__ = ["RuntimeEnqueuer", "enqueuer", "get_engine", "install", "lookup"]
