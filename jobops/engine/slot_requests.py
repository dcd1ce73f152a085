"""What a slot asks of Redis, through every cut connection: each request is numbered, and repeated with its
number until it is answered, so that nothing is claimed or settled twice."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from itertools import count
from secrets import token_hex
from typing import Final

from jobops.engine.board import Pen
from jobops.engine.client import Engine
from jobops.engine.clock import now_ns
from jobops.engine.line import Line
from jobops.engine.link import FAILURES, Backoff, is_away, is_starved
from jobops.engine.records import Claim, ClaimedJob, Outcome
from jobops.engine.scripts import Scripts

log = logging.getLogger("jobops.worker")

LOUD_SECONDS: Final = 0.5


class SlotRequests:
    """The requests of one slot. `giving_up` tells that an unanswered claim need not be repeated any more: whoever
    buries the slot finds out what became of it. `meanwhile` is called while Redis works on a request.

    ``seq``: number of the last request. ``asked_at``: when it was first sent, on the local clock: a lease it got runs
    from then or later. Raises SlotClosed when the slot was declared dead.
    """

    def __init__(
        self,
        engine: Engine,
        name: str,
        pen: Pen,
        block_ms: int,
        giving_up: Callable[[], object],
        meanwhile: Callable[[], object],
    ) -> None:
        self._scripts = Scripts(engine.redis, engine.keys, Line(engine.redis, meanwhile))
        self._name = name
        self._pen = pen
        self._block_ms = block_ms
        self._giving_up = giving_up
        self._stem = f"{token_hex(10)}-"
        self._serial = count(1)
        self.seq = 0
        self.asked_at = 0

    def claim(self, lanes: Sequence[str]) -> Claim | None:
        """The next job, or how long to wait; None when it gave up."""
        self.seq = seq = self.seq + 1
        self._pen.claiming(seq)
        self.asked_at = now_ns()
        backoff: Backoff | None = None
        while True:
            try:
                claim = self._scripts.claim(self._name, seq, self._name, lanes, self._block_ms, token=self._token())
                break
            except FAILURES as error:
                backoff = self._pause(error, backoff)
                if self._giving_up():
                    return None
        if claim.job is None:
            self._pen.idle(seq)
        return claim

    def settle(self, job: ClaimedJob, outcome: Outcome, ended: int, lanes: Sequence[str]) -> Claim | None:
        """Ends the job's lease, and claims the next from `lanes`; without lanes there is none. Never gives up: the
        outcome waits until Redis is back. ``ended``: now, on the local clock."""
        self.seq = seq = self.seq + 1
        self._pen.settling(seq)
        self.asked_at = ended
        scripts, name = self._scripts, self._name
        backoff: Backoff | None = None
        while True:
            try:
                settled = scripts.settle(
                    name, seq, job.id, job.token, outcome,
                    claim_lanes=lanes, worker=name, block_ms=self._block_ms, next_token=self._token(),
                )  # fmt: skip
                break
            except FAILURES as error:
                backoff = self._pause(error, backoff)
        if settled.outcome == "stale":
            log.warning("job %s (attempt %d) ended too late: its lease had been given away", job.id, job.attempt)
        claim = settled.claim
        if claim is None or claim.job is None:
            self._pen.idle(seq)
        return claim

    def renew(self, job: ClaimedJob) -> int:
        """Renews a lease before its job starts. When it was sent, on the local clock, or 0: the lease is lost."""
        backoff: Backoff | None = None
        while True:
            sent = now_ns()
            try:
                return sent if self._scripts.renew([(job.id, job.token)])[0] else 0
            except FAILURES as error:
                backoff = self._pause(error, backoff)
                if self._giving_up():
                    return 0

    def sleep(self, lanes: Sequence[str], wait_ms: int) -> None:
        """Waits until there may be work in `lanes`."""
        try:
            self._scripts.wait_for_wake(lanes, wait_ms)
        except FAILURES as error:
            self._pause(error, None)

    def _token(self) -> str:
        """One that no lease ever had: random digits for each would take a system call."""
        return f"{self._stem}{next(self._serial):x}"

    def _pause(self, error: Exception, backoff: Backoff | None) -> Backoff:
        """Waits before the next try, longer each time while Redis stays away. Raises what is no such error."""
        if not is_away(error) or is_starved(error):
            raise error
        backoff = backoff or Backoff()
        pause = backoff.next()
        if pause > LOUD_SECONDS:
            log.warning("slot %s: Redis is away (%s); trying again", self._name, error)
        time.sleep(pause)
        return backoff
