"""What a supervisor does in Redis between looking after its slots, each in its turn and none for long.

Promotion and rescue are among it, so that delayed and lost jobs go on when no scheduler runs.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass, field

from jobops.engine import registrations
from jobops.engine.board import Board, Lease, Phase
from jobops.engine.client import Engine
from jobops.engine.clock import SECOND, now_ns
from jobops.engine.endings import Endings
from jobops.engine.fleet import Child, Fleet
from jobops.engine.link import FAILURES, Backoff, is_away
from jobops.engine.slot_reports import Tally, slot_reports
from jobops.engine.worker import fence_margin
from jobops.engine.worker_options import WorkerOptions
from jobops.engine.worker_views import prune

log = logging.getLogger("jobops.worker")

PROMOTE_SECONDS = 0.25
PROMOTE_LIMIT = 100
RESCUE_SECONDS = 1.0
RESCUE_LIMIT = 100
PRUNE_SECONDS = 30.0


@dataclass(slots=True)
class Identity:
    """Who a supervisor is."""

    id: str
    host: str
    version: str
    pid: int = field(default_factory=os.getpid)
    started_at_ms: int = field(default_factory=lambda: int(time.time() * 1000))


class Upkeep:
    """The Redis side of one supervisor. ``is_drain_wanted`` becomes true when somebody asked for it there."""

    def __init__(
        self, engine: Engine, identity: Identity, options: WorkerOptions, board: Board, fleet: Fleet, endings: Endings
    ) -> None:
        self.is_drain_wanted = False
        self.is_draining = False
        self.tally = Tally()
        self._engine = engine
        self._identity = identity
        self._options = options
        self._board = board
        self._fleet = fleet
        self._endings = endings
        self._backoff = Backoff(first=0.1, cap=1.0)
        self._next_try = 0.0
        self._away_since = 0.0
        self._heartbeat_ns = int(options.heartbeat_s * SECOND)
        self._due = {"promote": 0.0, "rescue": 0.0, "announce": 0.0, "prune": 0.0}
        self._is_new = True
        self._is_prepared = False

    def run(self) -> bool:
        """Does what is due. False: Redis is away, and what is left waits for the next call."""
        if time.monotonic() < self._next_try:
            return False
        try:
            # Renewals first: nothing else has a deadline.
            self._renew()
            if not self._is_prepared:
                self._engine.prepare()
                self._is_prepared = True
            self._endings.tell(self._engine)
            for name, seconds, duty in (
                ("announce", self._options.heartbeat_s, self._announce),
                ("promote", PROMOTE_SECONDS, self._promote),
                ("rescue", RESCUE_SECONDS, self._rescue),
                ("prune", PRUNE_SECONDS, self._prune),
            ):
                now = time.monotonic()
                if now >= self._due[name]:
                    self._due[name] = now + seconds
                    duty()
        except FAILURES as error:
            if not is_away(error):
                raise
            self._note_away(error)
            return False
        self._note_back()
        return True

    def announce_soon(self) -> None:
        """The slots changed: tell with the next turn."""
        self._due["announce"] = 0.0

    def _note_away(self, error: Exception) -> None:
        now = time.monotonic()
        if not self._away_since:
            self._away_since = now
            log.warning("Redis is away (%s); running jobs go on, trying again", error)
        self._next_try = now + self._backoff.next()

    def _note_back(self) -> None:
        if self._away_since:
            log.warning("Redis is back after %.1f s", time.monotonic() - self._away_since)
            self._away_since = 0.0
            self._backoff.reset()
            self._is_prepared = False  # it may have come back empty
            self.announce_soon()

    # -- leases --------------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        due = [(child, lease) for child, lease in self._leases() if self._is_due(lease)]
        if not due:
            return
        sent = now_ns()
        kept = self._engine.scripts.renew([(lease.job_id, lease.token) for _, lease in due])
        for (child, lease), is_kept in zip(due, kept, strict=True):
            if is_kept:
                self._board.extend(child.index, lease.seq, sent + lease.span - fence_margin(lease.span))
            elif self._still_runs(child, lease):
                log.warning("slot %s lost its lease on job %s: killing it", child.name, lease.job_id)
                self._fleet.kill(child, "fenced")

    def _leases(self) -> list[tuple[Child, Lease]]:
        entries = [(child, self._board.read(child.index)) for child in self._fleet.children.values()]
        return [(child, entry.lease) for child, entry in entries if entry is not None and entry.lease is not None]

    def _is_due(self, lease: Lease) -> bool:
        renewed_at = lease.fence - lease.span + fence_margin(lease.span)
        return now_ns() - renewed_at >= min(self._heartbeat_ns, lease.span // 3)

    def _still_runs(self, child: Child, lease: Lease) -> bool:
        """Looked at after the answer: a job that was still running then had sent no settle that ended its lease."""
        entry = self._board.read(child.index)
        return (
            entry is not None
            and entry.phase is Phase.RUNNING
            and entry.lease is not None
            and entry.lease.seq == lease.seq
        )

    # -- duties --------------------------------------------------------------------------------------------------------

    def _announce(self) -> None:
        if self._is_new:
            prune(self._engine, host=self._identity.host)
            self._is_new = False
        who = self._identity
        slots = slot_reports(self._board, self._fleet)
        report = registrations.SupervisorReport(
            id=who.id,
            host=who.host,
            pid=who.pid,
            lanes=self._options.lanes,
            started_at_ms=who.started_at_ms,
            heartbeat_ms=int(self._options.heartbeat_s * 1000),
            draining=self.is_draining,
            jobs=self.tally.jobs + sum(slot.succeeded + slot.failed for slot in slots),
            version=who.version,
        )
        registrations.announce(self._engine, report, slots)

    def _promote(self) -> None:
        promoted = self._engine.scripts.promote(PROMOTE_LIMIT, int(PROMOTE_SECONDS * 1000))
        if promoted.moved >= PROMOTE_LIMIT:
            self._due["promote"] = 0.0

    def _rescue(self) -> None:
        rescued = self._engine.scripts.rescue(RESCUE_LIMIT, hold_ms=int(self._options.lease_s * 1000))
        if rescued.moved + rescued.dead >= RESCUE_LIMIT:
            self._due["rescue"] = 0.0
        if rescued.moved or rescued.dead:
            log.warning("rescued %d jobs whose lease had run out, %d of them died", rescued.moved, rescued.dead)
        self.is_drain_wanted = registrations.is_drain_requested(self._engine, self._identity.id)

    def _prune(self) -> None:
        prune(self._engine)

    def promote_all(self) -> None:
        """Moves whatever is due now, so that a burst worker finds it."""
        while self._engine.scripts.promote(PROMOTE_LIMIT).moved:
            pass

    def leave(self) -> None:
        """The last word: this supervisor is gone."""
        try:
            registrations.withdraw(self._engine, self._identity.id)
        except FAILURES as error:
            if not is_away(error):
                raise
