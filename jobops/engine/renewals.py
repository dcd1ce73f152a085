"""The supervisor renews the leases of its slots, and kills a slot that has lost its own."""

from __future__ import annotations

import logging

from jobops.engine.board import Board, Lease, Phase
from jobops.engine.client import Engine
from jobops.engine.clock import SECOND, now_ns
from jobops.engine.fleet import Child, Fleet
from jobops.engine.link import FAILURES, is_away
from jobops.engine.processes import is_stopped
from jobops.engine.worker import fence_margin

log = logging.getLogger("jobops.worker")

# A settle that gets through takes milliseconds, and its slot tries again every second or so.
SETTLE_NS = 3 * SECOND


class Renewals:
    """Renews what is due. ``heartbeat_ns``: how old a renewal may become."""

    def __init__(self, engine: Engine, board: Board, fleet: Fleet, heartbeat_ns: int) -> None:
        self._engine = engine
        self._board = board
        self._fleet = fleet
        self._heartbeat_ns = heartbeat_ns
        self._settle_ns = max(2 * heartbeat_ns, SETTLE_NS)
        # By slot and request: since when it settles a lease that is no longer its own.
        self._late: dict[tuple[str, int], int] = {}
        # Those that stood still in the middle of a settle when their lease was last renewed.
        self._still: set[tuple[str, int]] = set()

    def renew(self) -> None:
        """One round. Raises only what says that Redis is away."""
        due = [(child, lease) for child, lease in self._leases() if self._is_due(lease)]
        self._late = {key: since for key, since in self._late.items() if key in {_key(*each) for each in due}}
        if not due:
            return
        sent = now_ns()
        for (child, lease), is_kept in zip(due, self._ask([lease for _, lease in due]), strict=True):
            if is_kept and self._stands_still(child, lease):
                log.warning("slot %s is stopped in the middle of settling job %s: killing it", child.name, lease.job_id)
                self._fleet.kill(child, "fenced")
            elif is_kept:
                self._board.extend(child.index, lease.seq, sent + lease.span - fence_margin(lease.span))
            elif is_kept is False:
                self._lost(child, lease)

    def _ask(self, leases: list[Lease]) -> list[bool | None]:
        """Which of them are kept; None for one whose keys are damaged, so that Redis cannot tell."""
        try:
            return list(self._engine.scripts.renew([(lease.job_id, lease.token) for lease in leases]))
        except FAILURES as error:
            if is_away(error):
                raise
            if len(leases) == 1:
                log.error("the lease on job %s cannot be renewed: %s", leases[0].job_id, error)
                return [None]
        # Together they stand or fall: each alone.
        return [answer for lease in leases for answer in self._ask([lease])]

    def _lost(self, child: Child, lease: Lease) -> None:
        # Looked at after the answer: a job that was still running then had sent no settle that ended its lease.
        entry = self._board.read(child.index)
        if entry is None or entry.lease is None or entry.lease.seq != lease.seq:
            return
        if entry.phase is Phase.RUNNING:
            log.warning("slot %s lost its lease on job %s: killing it", child.name, lease.job_id)
            self._fleet.kill(child, "fenced")
        elif now_ns() - self._late.setdefault(_key(child, lease), now_ns()) > self._settle_ns:
            # Whatever keeps its settle from getting through, it would keep trying for ever, and nothing depends on it.
            log.warning("slot %s cannot settle job %s, whose lease is over: killing it", child.name, lease.job_id)
            self._fleet.kill(child, "fenced")

    def _stands_still(self, child: Child, lease: Lease) -> bool:
        """Whether it was stopped by somebody before it could settle, since the renewal before: no time-out applies any
        more, and renewed for ever, the lease would keep the job from everybody else."""
        key, entry = _key(child, lease), self._board.read(child.index)
        was_still = key in self._still
        self._still.discard(key)
        if entry is not None and entry.phase is Phase.SETTLING and is_stopped(child.pid):
            self._still.add(key)
            return was_still
        return False

    def _leases(self) -> list[tuple[Child, Lease]]:
        entries = [(child, self._board.read(child.index)) for child in self._fleet.children.values()]
        return [(child, entry.lease) for child, entry in entries if entry is not None and entry.lease is not None]

    def _is_due(self, lease: Lease) -> bool:
        renewed_at = lease.fence - lease.span + fence_margin(lease.span)
        return now_ns() - renewed_at >= min(self._heartbeat_ns, lease.span // 3)


def _key(child: Child, lease: Lease) -> tuple[str, int]:
    return child.name, lease.seq
