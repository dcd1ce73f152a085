"""The supervisor: one process that forks the slots, keeps their leases and kills, buries and replaces them.

It is single-threaded, and forks from its main thread only.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable
from secrets import token_hex
from typing import NoReturn

from jobops.engine import lua_source
from jobops.engine.board import Board, Orders
from jobops.engine.client import Engine
from jobops.engine.clock import now_ns
from jobops.engine.deadlines import Judge
from jobops.engine.endings import Endings
from jobops.engine.fleet import Fleet
from jobops.engine.processes import resident_mib
from jobops.engine.registrations import this_host
from jobops.engine.signals import Signals
from jobops.engine.slot_process import become_slot
from jobops.engine.upkeep import Identity, Upkeep
from jobops.engine.warden_process import WardenProcess
from jobops.engine.worker import DONE
from jobops.engine.worker_options import Runner, WorkerOptions

log = logging.getLogger("jobops.worker")

TICK_SECONDS = 0.2
MEMORY_SECONDS = 1.0
# After the drain time-out: how long to try to hand the leases back when Redis is away.
FAREWELL_SECONDS = 5.0


class Supervisor:
    """A worker: `run` it in the main thread; it returns the exit code.

    ``connect`` gives a process its engine, with a connection of its own. ``runner`` runs the jobs, in the slots.
    """

    def __init__(
        self, connect: Callable[[], Engine], runner: Runner, options: WorkerOptions, *, version: str = ""
    ) -> None:
        host = this_host()
        self._identity = Identity(id=f"{host}-{token_hex(4)}", host=host, version=version)
        self._connect = connect
        self._runner = runner
        self._options = options
        self._board = Board(options.processes)
        self._signals = Signals()
        self._endings = Endings()
        self._warden = WardenProcess(self._board, options, connect, self._identity.id)
        self._fleet = Fleet(self._board, self._slot_name, self._become_slot, options.hooks.before_fork)
        self._judge = Judge(self._board)
        self._stop_at: float | None = None
        self._farewell_at: float | None = None
        self._memory_at = 0.0

    @property
    def id(self) -> str:
        """The supervisor's id; its slots' names begin with it."""
        return self._identity.id

    def run(self) -> int:
        """Works until it is told to stop, or in burst until nothing is runnable. Returns 0."""
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("a supervisor runs in the main thread: children forked elsewhere die with that thread")
        lua_source.read_all()
        self._signals.install()
        gc.collect()
        upkeep = Upkeep(self._connect(), self._identity, self._options, self._board, self._fleet, self._endings)
        self._warden.ensure(self._close_in_child)
        log.info("worker %s: %d slots on %s", self.id, self._options.processes, ", ".join(self._options.lanes))
        if upkeep.run() and self._options.burst:
            upkeep.promote_all()
        while not self._is_finished():
            self._steer(upkeep)
            self._signals.wait(min(TICK_SECONDS, upkeep.wait_s()))
            self._bury(upkeep)
            self._enforce()
            upkeep.run()
        self._leave(upkeep)
        return 0

    # -- one turn ------------------------------------------------------------------------------------------------------

    def _steer(self, upkeep: Upkeep) -> None:
        """Stops when that is wanted, otherwise keeps every place filled."""
        if self._stop_at is None and (self._signals.stops or upkeep.is_drain_wanted):
            self._stop_at = time.monotonic() + self._options.drain_timeout_s
            upkeep.is_draining = True
            upkeep.announce_soon()
            log.info("worker %s: stopping; running jobs have %g s", self.id, self._options.drain_timeout_s)
            self._fleet.stop()
        if self._stop_at is None:
            self._warden.ensure(self._close_in_child)
            if self._fleet.start_missing():
                upkeep.announce_soon()
        elif self._signals.stops > 1 or time.monotonic() > self._stop_at:
            for child in self._fleet.children.values():
                self._fleet.kill(child, "release")

    def _bury(self, upkeep: Upkeep) -> None:
        for ended in self._fleet.bury():
            upkeep.tally.add(ended.entry)
            self._endings.add(ended)
            upkeep.announce_soon()
            if self._options.burst and ended.is_orderly and ended.code == DONE:
                self._fleet.close(ended.child.index)

    def _enforce(self) -> None:
        for verdict in self._judge.overdue(now_ns()):
            child = self._fleet.children.get(verdict.place)
            if child is not None and child.generation == verdict.generation:
                self._fleet.kill(child, verdict.reason)
        if self._options.max_memory_mib and time.monotonic() >= self._memory_at:
            self._memory_at = time.monotonic() + MEMORY_SECONDS
            self._recycle_large(self._options.max_memory_mib)

    def _recycle_large(self, limit_mib: int) -> None:
        for child in self._fleet.children.values():
            # A little less for some, so that slots that grow alike are not all replaced at once.
            if (resident_mib(child.pid) or 0) > limit_mib * (1 - child.jitter / 10):
                self._board.order(child.index, Orders.RECYCLE)

    # -- the end -------------------------------------------------------------------------------------------------------

    def _is_finished(self) -> bool:
        if self._fleet.children or (self._stop_at is None and not self._fleet.is_closed):
            return False
        if not self._endings:
            return True
        # All slots are gone, and Redis is away: there is nothing to be done but to tell it, for a while.
        now = time.monotonic()
        if self._farewell_at is None:
            self._farewell_at = now + FAREWELL_SECONDS
        return now > self._farewell_at

    def _leave(self, upkeep: Upkeep) -> None:
        if self._endings:
            log.warning("worker %s: not all leases could be given back; those will run out", self.id)
        else:
            upkeep.leave()
        self._warden.dismiss()
        log.info("worker %s: stopped", self.id)

    # -- children ------------------------------------------------------------------------------------------------------

    def _slot_name(self, index: int, generation: int) -> str:
        # `worker_views` knows our slots among RQ's workers by this form.
        return f"{self.id}-{index + 1}.{generation}"

    def _become_slot(self, index: int, name: str, parent: int, lifeline: int) -> NoReturn:
        self._signals.close_in_child()
        self._warden.close_in_child()
        become_slot(self._connect, self._runner, self._options, self._board, index, name, parent, lifeline)

    def _close_in_child(self) -> None:
        self._signals.close_in_child()
        self._fleet.close_lifelines()
