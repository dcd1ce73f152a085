"""A slot: one process that claims jobs, runs them in itself and settles them, one round trip each.

It registers as an RQ worker, so that RQ's own tools show it. RQ's work loop, its queue list, its
fork per job and its `perform_job` are not used: the loop here claims through the engine's Lua.
"""

from __future__ import annotations

import logging
import os
import random
import signal
from collections.abc import Callable
from types import FrameType
from typing import Final

from redis import Redis
from rq import SimpleWorker
from rq.worker import WorkerStatus

from jobops.engine.board import Board, Orders
from jobops.engine.client import Engine
from jobops.engine.clock import MILLISECOND, SECOND, now_ns
from jobops.engine.errors import SlotClosed
from jobops.engine.records import Claim, ClaimedJob, Outcome
from jobops.engine.slot_requests import SlotRequests
from jobops.engine.surroundings import Surroundings
from jobops.engine.timeouts import JobTimeout, SoftTimeout
from jobops.engine.worker_options import Runner, WorkerOptions

log = logging.getLogger("jobops.worker")

# Exit codes of a slot's process: its supervisor tells them apart.
DONE: Final = 0
RECYCLED: Final = 3
CLOSED: Final = 4
BROKEN: Final = 70

# In burst: how soon to look again while another slot is busy, as its job may set free what this one may run.
BURST_LOOK_MS: Final = 100
MESSAGE_CHARS: Final = 4096


def fence_margin(span: int) -> int:
    """How long before its lease of `span` ns ends a slot must be dead: time to notice and to kill."""
    return min(2 * SECOND, span * 15 // 100)


def _noted(_signum: int, _frame: FrameType | None) -> None:
    """A signal that means nothing to a slot."""


class _Woken(BaseException):
    """A signal ends the sleep of an idle slot."""


class Slot(SimpleWorker):
    """One slot process's worker. Build and `run` it in the main thread of a process of its own."""

    def __init__(
        self, engine: Engine, name: str, runner: Runner, options: WorkerOptions, board: Board, index: int
    ) -> None:
        super().__init__([], name=name, connection=engine.redis, worker_ttl=int(options.heartbeat_s * 6) + 1)
        self._runner = runner
        self._options = options
        self._hooks = options.hooks
        self._board = board
        self._index = index
        self._pen = board.pen(index)
        self._alarm = SoftTimeout()
        self._draining = False
        self._sleeping = False
        self._engine = engine
        self._grace = int(options.grace_s * SECOND)
        limit = options.max_jobs
        # A little less for some, so that slots of one age are not all replaced at once.
        self._jobs_left = limit - random.randrange(limit // 10 + 1) if limit else -1

    def _set_connection(self, connection: Redis) -> Redis:
        return connection  # RQ would stretch its time-out to minutes, for a dequeue that never comes

    # -- signals -------------------------------------------------------------------------------------------------------

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """SIGTERM: claim nothing more, end when the running job has ended."""
        if os.getpid() != self.pid:
            # A process that the job forked: our handler came along, its effect must not.
            signal.signal(signum, signal.SIG_DFL)
            os.kill(os.getpid(), signum)
            return
        self._draining = True
        if self._sleeping:
            self._sleeping = False
            raise _Woken

    def _install_signal_handlers(self) -> None:
        self._surroundings = Surroundings(
            {
                signal.SIGTERM: self.request_stop,
                # The terminal's Ctrl-C is the supervisor's business. No SIG_IGN: programs that jobs start would
                # inherit it.
                signal.SIGINT: _noted,
                # One that a job had asked for and that comes after its end: by default it would end the process.
                signal.SIGALRM: self._alarm.handler,
                signal.SIGCHLD: int(signal.SIG_DFL),
            }
        )

    # -- the loop ------------------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Works until told to stop, done (in burst) or recycled; the exit code says which."""
        self._install_signal_handlers()
        self._requests = SlotRequests(
            self._engine, self.name, self._pen, self._options.block_ms, self._is_ending, self._surroundings.restore
        )
        self.connection.delete(self.key)
        self.register_birth()  # type: ignore[no-untyped-call]
        self.set_state(WorkerStatus.IDLE)
        try:
            return self._loop()
        except SlotClosed:
            log.warning("slot %s was declared dead while it lived: ending", self.name)
            return CLOSED

    def _is_ending(self) -> bool:
        return self._draining or bool(self._pen.orders) or not self._jobs_left

    def _loop(self) -> int:
        lanes = self._options.lanes
        claim = None if self._is_ending() else self._requests.claim(lanes)
        while claim is not None:
            if claim.job is not None:
                claim = self._perform(claim.job)
                continue
            if claim.wait_ms:
                if self._options.burst and not self._others_are_busy():
                    return DONE
                self._sleep(claim.wait_ms)
            claim = None if self._is_ending() else self._requests.claim(lanes)
        return DONE if self._draining or self._pen.orders & Orders.STOP else RECYCLED

    def _perform(self, job: ClaimedJob) -> Claim | None:
        """Runs a job, settles it and, unless the slot is to end, claims the next in the same call."""
        started = self._begin(job)
        if not started:
            self._pen.idle(self._requests.seq)
            return None if self._is_ending() else self._requests.claim(self._options.lanes)
        hooks = self._hooks
        if hooks.before_job is not None:
            self._call_hook("before_job", hooks.before_job, job)
        try:
            outcome = self._runner.run(job, self._alarm)
        except JobTimeout as error:
            outcome = Outcome.failed("timeout", "JobTimeout", str(error))
        except BaseException as error:
            log.exception("job %s: its runner raised", job.id)
            outcome = Outcome.failed("error", type(error).__name__, str(error)[:MESSAGE_CHARS])
        if os.getpid() != self.pid:
            os._exit(0)  # the job forked, and this is its child that came back: there is one slot only
        if hooks.after_job is not None:
            self._call_hook("after_job", hooks.after_job, job)
        if self._surroundings.is_worn():
            log.warning("job %s lowered the limits of its process; the slot is replaced", job.id)
            self._jobs_left = 0
        if len(outcome.result) > self._options.result_limit:
            outcome = self._without_result(job, outcome)
        ended = now_ns()
        self._pen.count(outcome.kind == "succeeded", ended - started)
        if self._jobs_left > 0:
            self._jobs_left -= 1
        return self._requests.settle(job, outcome, ended, () if self._is_ending() else self._options.lanes)

    def _call_hook(self, name: str, hook: Callable[[], object], job: ClaimedJob) -> None:
        """What a hook raises is not the job's fault: the job runs and counts as if nothing had happened, and the slot,
        which may be in any state now, is replaced after it."""
        try:
            hook()
        except BaseException:
            log.exception("job %s: the hook %s raised; the slot is replaced after this job", job.id, name)
            self._jobs_left = 0

    def _without_result(self, job: ClaimedJob, outcome: Outcome) -> Outcome:
        # The job's effect has happened: running it again for the sake of its result would be wrong.
        size, limit = len(outcome.result), self._options.result_limit
        log.warning("job %s succeeded, its result is not kept: %d bytes, the limit is %d", job.id, size, limit)
        return Outcome.succeeded(b"")

    def _begin(self, job: ClaimedJob) -> int:
        """Writes the lease to the board. The instant the job starts, or 0 when its lease may be over already."""
        requests = self._requests
        span = job.lease_ms * MILLISECOND
        safe = span - fence_margin(span)
        started = now_ns()
        fence = requests.asked_at + safe
        if started >= fence:
            # The answer was long under way (Redis was away): another slot may have the job by now.
            renewed = requests.renew(job)
            if not renewed:
                return 0
            started = now_ns()
            fence = renewed + safe
        hard = started + job.timeout_ms * MILLISECOND + self._grace
        self._pen.running(requests.seq, job.id, job.token, started, hard, span, fence)
        return started

    def _sleep(self, wait_ms: int) -> None:
        if self._options.burst:
            wait_ms = min(wait_ms, BURST_LOOK_MS)
        try:
            try:
                self._sleeping = True
                if not self._is_ending():
                    self._requests.sleep(self._options.lanes, wait_ms)
            finally:
                self._sleeping = False
        except _Woken:
            pass

    def _others_are_busy(self) -> bool:
        board = self._board
        return any(board.is_busy(index) for index in range(board.size) if index != self._index)
