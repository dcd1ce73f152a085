"""What a supervisor tells about its slots, as the board has it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from jobops.engine.board import Board, Entry, Phase
from jobops.engine.clock import SECOND
from jobops.engine.fleet import Fleet
from jobops.engine.registrations import SlotReport


@dataclass(slots=True)
class Tally:
    """What the slots that are no more did."""

    jobs: int = 0

    def add(self, entry: Entry | None) -> None:
        """Counts a buried slot's jobs."""
        if entry is not None:
            self.jobs += entry.succeeded + entry.failed


def slot_reports(board: Board, fleet: Fleet) -> list[SlotReport]:
    """The living slots that have registered themselves: each has sent its first request."""
    reports = []
    for child in fleet.children.values():
        entry = board.read(child.index)
        if entry is not None and entry.request:
            lease = entry.lease
            reports.append(
                SlotReport(
                    name=child.name,
                    pid=child.pid,
                    busy=entry.phase in (Phase.RUNNING, Phase.SETTLING),
                    job_id=lease.job_id if lease is not None else "",
                    succeeded=entry.succeeded,
                    failed=entry.failed,
                    busy_s=round(entry.busy / SECOND, 3),
                    born_at=datetime.fromtimestamp(child.born_at, UTC),
                )
            )
    return reports
