"""A lease that Redis does not renew: its slot is killed if it still runs the job, and only then."""

from __future__ import annotations

from typing import Any

import pytest

from jobops.engine.board import Board, Pen
from jobops.engine.clock import SECOND, now_ns
from jobops.engine.endings import Endings
from jobops.engine.errors import EngineUnavailable
from jobops.engine.fleet import Child
from jobops.engine.keys import Keys
from jobops.engine.renewals import Renewals
from jobops.engine.upkeep import Identity, Upkeep
from jobops.engine.worker import fence_margin
from jobops.engine.worker_options import WorkerOptions


class Scripts:
    """Answers one renewal; ``meanwhile`` happens between the question and the answer."""

    def __init__(self, kept: bool, meanwhile: Any) -> None:
        self.asked: list[tuple[str, str]] = []
        self._kept = kept
        self._meanwhile = meanwhile

    def renew(self, leases: list[tuple[str, str]]) -> list[bool]:
        self.asked += leases
        self._meanwhile()
        return [self._kept] * len(leases)


class Engine:
    def __init__(self, scripts: Scripts) -> None:
        self.scripts = scripts
        self.keys = Keys()


class Fleet:
    def __init__(self) -> None:
        self.children = {0: Child(0, 1, "slot", 4711, None, -1, 0.0, 0.0, 0.0)}
        self.killed: list[str] = []

    def kill(self, child: Child, reason: str) -> None:
        self.killed.append(reason)


SPAN = 30 * SECOND


def running(pen: Pen, seq: int, *, renewed_ago: int) -> None:
    now = now_ns()
    fence = now - renewed_ago + SPAN - fence_margin(SPAN)
    pen.running(seq, f"job-{seq}", "token", now, now + 60 * SECOND, SPAN, fence)


def renew(kept: bool, *, renewed_ago: int = 6 * SECOND, meanwhile: Any = None) -> tuple[Scripts, Fleet, Board]:
    board = Board(1)
    board.assign(0, 4711, 1, "slot")
    pen = board.pen(0)
    running(pen, 1, renewed_ago=renewed_ago)
    scripts = Scripts(kept, lambda: meanwhile(pen) if meanwhile else None)
    fleet: Any = Fleet()
    engine: Any = Engine(scripts)
    upkeep = Upkeep(engine, Identity("id", "host", ""), WorkerOptions(lanes=("bulk",)), board, fleet, Endings())
    upkeep._renewals.renew()
    return scripts, fleet, board


def test_a_renewed_lease_moves_the_fence() -> None:
    scripts, fleet, board = renew(kept=True)
    assert scripts.asked == [("job-1", "token")]
    entry = board.read(0)
    assert entry is not None
    assert entry.lease is not None
    assert entry.lease.fence > now_ns() + SPAN - fence_margin(SPAN) - SECOND
    assert fleet.killed == []


def test_a_lease_renewed_a_moment_ago_is_left_alone() -> None:
    scripts, _, _ = renew(kept=True, renewed_ago=SECOND)
    assert scripts.asked == []


def test_a_slot_that_runs_on_without_its_lease_is_killed() -> None:
    """CC-02: it was given away."""
    assert renew(kept=False)[1].killed == ["fenced"]


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda pen: pen.settling(2),
        lambda pen: pen.idle(2),
        lambda pen: running(pen, 2, renewed_ago=0),
    ],
    ids=["is being settled", "was settled", "was settled and the next job runs"],
)
def test_a_job_that_ended_meanwhile_is_no_reason_to_kill(meanwhile: Any) -> None:
    """LS-09: what was read before the end must not be acted on after it."""
    assert renew(kept=False, meanwhile=meanwhile)[1].killed == []


def settling_renewals(scripts: Any) -> tuple[Renewals, Any, Board]:
    board = Board(1)
    board.assign(0, 4711, 1, "slot")
    running(board.pen(0), 1, renewed_ago=6 * SECOND)
    fleet: Any = Fleet()
    engine: Any = Engine(scripts)
    return Renewals(engine, board, fleet, 2 * SECOND), fleet, board


def test_a_settle_without_a_lease_is_ended_after_two_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its outcome counts no more, and whatever keeps it from getting through may do so for ever."""
    renewals, fleet, board = settling_renewals(Scripts(False, lambda: None))
    board.pen(0).settling(2)
    clock = now_ns()
    for after, killed in ((0, []), (3, []), (4.5, ["fenced"])):
        monkeypatch.setattr("jobops.engine.renewals.now_ns", lambda at=clock + int(after * SECOND): at)
        renewals.renew()
        assert fleet.killed == killed


def test_one_lease_with_damaged_keys_does_not_keep_the_others_from_being_renewed() -> None:
    class Damaged(Scripts):
        def renew(self, leases: list[tuple[str, str]]) -> list[bool]:
            if ("job-1", "token") in leases:
                raise EngineUnavailable("renew: WRONGTYPE")
            return super().renew(leases)

    scripts = Damaged(True, lambda: None)
    board = Board(2)
    fleet: Any = Fleet()
    engine: Any = Engine(scripts)
    for place in range(2):
        board.assign(place, 4711 + place, 1, f"slot-{place}")
        running(board.pen(place), place + 1, renewed_ago=6 * SECOND)
        fleet.children[place] = Child(place, 1, f"slot-{place}", 4711 + place, None, -1, 0.0, 0.0, 0.0)
    Renewals(engine, board, fleet, 2 * SECOND).renew()
    assert scripts.asked == [("job-2", "token")]
    assert fleet.killed == []
