"""What a supervisor does in Redis between looking after its slots, each in its turn and none for long.

Promotion and rescue are among it, so that delayed and lost jobs go on when no scheduler runs.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass, field

from jobops.engine import registrations
from jobops.engine.board import Board
from jobops.engine.client import Engine
from jobops.engine.clock import SECOND
from jobops.engine.duty import Duty
from jobops.engine.endings import Endings
from jobops.engine.fleet import Fleet
from jobops.engine.link import FAILURES, Backoff, is_away
from jobops.engine.renewals import Renewals
from jobops.engine.slot_reports import Tally, slot_reports
from jobops.engine.stops import Stops
from jobops.engine.sweeps import Promotion, Rescue
from jobops.engine.worker_options import WorkerOptions
from jobops.engine.worker_views import prune

log = logging.getLogger("jobops.worker")

PROMOTE_SECONDS = 0.25
RESCUE_SECONDS = 0.25
DRAIN_SECONDS = 1.0
STOPS_SECONDS = 0.5
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
        self._backoff = Backoff(first=0.1, cap=1.0)
        self._next_try = 0.0
        self._away_since = 0.0
        self._renewals = Renewals(engine, board, fleet, int(options.heartbeat_s * SECOND))
        self._announcing = Duty("announcing the slots", options.heartbeat_s, self._announce)
        self._promotion = Promotion(engine, PROMOTE_SECONDS)
        rescue = Rescue(engine, RESCUE_SECONDS, int(options.lease_s * 1000), log)
        self._sweeps = (
            Duty("promoting due jobs", PROMOTE_SECONDS, self._promotion.step),
            Duty("rescuing lost jobs", RESCUE_SECONDS, rescue.step),
        )
        stops = Stops(engine, identity.id, board, fleet)
        self._duties = (
            Duty("preparing Redis", 0.0, self._prepare),
            Duty("telling which slots ended", 0.0, lambda: endings.tell(engine)),
            Duty("stopping jobs", STOPS_SECONDS, stops.look),
            self._announcing,
            *self._sweeps,
            Duty("looking for a wish to drain", DRAIN_SECONDS, self._look_for_drain),
            Duty("pruning registrations", PRUNE_SECONDS, self._prune),
        )
        self._is_new = True
        self._is_prepared = False

    def run(self) -> bool:
        """Does what is due. False: Redis is away, the rest waits for the next call. What Redis refuses is logged."""
        if time.monotonic() < self._next_try:
            return False
        try:
            # Renewals first: nothing else has a deadline.
            self._renewals.renew()
            for duty in self._duties:
                duty.attempt()
        except Exception as error:
            if not is_away(error):
                raise
            self._note_away(error)
            return False
        self._note_back()
        return True

    def wait_s(self) -> float:
        """Seconds until delayed or lost jobs are to be looked for again."""
        return max(0.0, max(self._next_try, min(sweep.due for sweep in self._sweeps)) - time.monotonic())

    def announce_soon(self) -> None:
        """The slots changed: tell with the next turn."""
        self._announcing.soon()

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

    # -- duties --------------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        if not self._is_prepared:
            self._engine.prepare()
            self._is_prepared = True

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
            job_types=self._options.job_types,
        )
        registrations.announce(self._engine, report, slots)

    def _look_for_drain(self) -> None:
        self.is_drain_wanted = registrations.is_drain_requested(self._engine, self._identity.id)

    def _prune(self) -> None:
        prune(self._engine)

    def promote_all(self) -> None:
        """Moves whatever is due now, so that a burst worker finds it."""
        try:
            self._promotion.drain()
        except FAILURES as error:
            log.error("not all due jobs could be promoted: %s", error)

    def leave(self) -> None:
        """The last word: this supervisor is gone."""
        try:
            registrations.withdraw(self._engine, self._identity.id)
        except FAILURES as error:
            log.warning("this worker could not withdraw from the list of workers: %s", error)
