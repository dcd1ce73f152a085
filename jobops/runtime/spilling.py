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

    def must_wait(self, jobs: Sequence[NewJob]) -> list[bool]:
        """Of each whether older jobs of its tenant wait in the outbox for room. Only jobs that spill wait behind them.
        One query at most."""
        tenants = {job.tenant for job in jobs if job.on_full == "spill"}
        now = time.monotonic()
        never = (now - ASK_AGAIN_S, False)
        asked = [slug for slug in tenants if now - self._known.get(slug, never)[0] >= ASK_AGAIN_S]
        if asked:
            held = {slug for slug in asked if self._known.get(slug, never)[1]}
            with contextlib.suppress(DatabaseError):  # nobody can tell, and there may be room
                held = holds.held_among(asked)
            if len(self._known) >= MOST_TENANTS:
                self._known = {slug: known for slug, known in self._known.items() if slug in tenants}
            self._known.update({slug: (now, slug in held) for slug in asked})
        return [job.on_full == "spill" and self._known[job.tenant][1] for job in jobs]

    def begin(self, refused: Sequence[tuple[NewJob, DepthExceeded]]) -> None:
        """These were refused and are in the outbox now: their tenants wait as a whole. Raises ``django.db.Error``."""
        holds.begin({job.tenant: error for job, error in refused})
        now = time.monotonic()
        self._known.update({job.tenant: (now, True) for job, _ in refused})


def is_spilled(answer: Enqueued | Exception, job: NewJob) -> TypeGuard[DepthExceeded]:
    """Whether the job, so answered, goes to the outbox."""
    return job.on_full == "spill" and isinstance(answer, DepthExceeded)
