"""Jobs that wait outside of a tenant that is full (``on_full="spill"``), and those that must not pass them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import TypeGuard

from django.db import Error as DatabaseError

from jobops.context import holds
from jobops.engine.errors import DepthExceeded
from jobops.engine.records import Enqueued, NewJob

ASK_AGAIN_S = 0.5
"""How old an answer may be to whether a tenant's jobs wait in the outbox."""

MOST_TENANTS = 10_000


class Spillway:
    """Tells who has to join the line in the outbox. Kept for each process; other processes are told by the holds."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, bool]] = {}

    def must_wait(self, job: NewJob) -> bool:
        """Whether older jobs of its tenant wait in the outbox for room. Only jobs that spill wait behind them."""
        if job.on_full != "spill":
            return False
        asked_at, held = self._known.get(job.tenant, (0.0, False))
        now = time.monotonic()
        if now - asked_at >= ASK_AGAIN_S:
            with contextlib.suppress(DatabaseError):  # nobody can tell, and there may be room
                held = holds.is_held(job.tenant)
            if len(self._known) >= MOST_TENANTS:
                self._known.clear()
            self._known[job.tenant] = (now, held)
        return held

    def begin(self, refused: Sequence[tuple[NewJob, DepthExceeded]]) -> None:
        """These were refused and are in the outbox now: their tenants wait as a whole. Raises ``django.db.Error``."""
        holds.begin({job.tenant: error for job, error in refused})
        now = time.monotonic()
        self._known.update({job.tenant: (now, True) for job, _ in refused})


def is_spilled(answer: Enqueued | Exception, job: NewJob) -> TypeGuard[DepthExceeded]:
    """Whether the job, so answered, goes to the outbox."""
    return job.on_full == "spill" and isinstance(answer, DepthExceeded)
