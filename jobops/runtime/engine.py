"""One engine for each process."""

from __future__ import annotations

import os
import threading

from django.conf import settings

from jobops.embedded import ANSWER_TIMEOUT_S
from jobops.engine import lua_source
from jobops.engine.client import Engine, connect
from jobops.limits.pushing import push_unknown

_lock = threading.Lock()
_engine: Engine | None = None
_owner: tuple[int, str] | None = None


def get_engine() -> Engine:
    """The engine on ``settings.JOBOPS_REDIS_URL``, made at the first call in this process.

    After a fork the child makes its own: two processes on one socket would read each other's answers.
    """
    global _engine, _owner
    wanted = (os.getpid(), settings.JOBOPS_REDIS_URL)
    if _engine is None or _owner != wanted:
        with _lock:
            if _engine is None or _owner != wanted:
                lua_source.read_all()
                redis = connect(settings.JOBOPS_REDIS_URL, socket_timeout=ANSWER_TIMEOUT_S)
                _engine = Engine(redis, lanes=dict(settings.JOBOPS_LANES))
                _engine.on_prepare = push_unknown
                _owner = wanted
    return _engine


def _new_lock_after_fork() -> None:
    # Another thread of the parent may hold it at the fork; nobody would ever release it here.
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_new_lock_after_fork)
