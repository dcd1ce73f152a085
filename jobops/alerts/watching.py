"""What no scheduler can tell: that none leads, and that Redis is away. The web processes look, each time that they are
asked whether they are ready, which load balancers and process managers do every few seconds.

A scheduler stands back while Redis is away, and where none runs nobody evaluates anything. So the web processes judge
these two signals, and send what comes of it: the scheduler's own sender is not there either.
"""

from __future__ import annotations

import logging
import threading
import time

from django.db import Error as DatabaseError
from django.db import connection

from jobops.alerts import sending
from jobops.alerts.evaluating import evaluate
from jobops.alerts.models import Alert
from jobops.engine.client import Engine

log = logging.getLogger("jobops.alerts")

SIGNALS = frozenset({"no_scheduler", "redis_away"})
EVERY_S = 10.0
"""How often one process looks, however often it is asked."""


class Watch:
    """One process's watch. Safe to share between threads; one looks at a time, and the others do not wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_at = 0.0
        self._sender: threading.Thread | None = None

    def look(self, engine: Engine, *, redis_away: bool) -> int:
        """Judge the two signals if it is time; answers how many episodes changed. Never raises for a store that is
        away: who asks wants to know something else. ``redis_away``: it did not answer a moment ago."""
        if not self._lock.acquire(blocking=False):
            return 0
        try:
            if time.monotonic() < self._next_at:
                return 0
            self._next_at = time.monotonic() + EVERY_S
            changed = evaluate(engine, only=SIGNALS, redis_away=redis_away)
            # Until one of them is over, nobody else may be there to send.
            if changed or Alert.objects.filter(signal__in=SIGNALS, resolved_at__isnull=True).exists():
                self._send()
            return changed
        except DatabaseError as error:
            log.warning("nobody could look whether a scheduler leads: %s", type(error).__name__)
            return 0
        finally:
            self._lock.release()

    def _send(self) -> None:
        """In a thread, since a channel may hang; one at a time."""
        if self._sender is None or not self._sender.is_alive():
            self._sender = threading.Thread(target=_send_due, name="alerts of the watch", daemon=True)
            self._sender.start()


def _send_due() -> None:
    try:
        sending.send_due()
    except Exception as error:  # noqa: BLE001  (the next look tries again)
        log.warning("messages could not be sent: %s", type(error).__name__)
    finally:
        connection.close()


_watch = Watch()


def look(engine: Engine, *, redis_away: bool) -> int:
    """As ``Watch.look``, of this process."""
    return _watch.look(engine, redis_away=redis_away)
