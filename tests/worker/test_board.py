"""The board: what one process writes, another reads, whole or not at all."""

from __future__ import annotations

import multiprocessing
import time

import pytest

from jobops.engine.board import Board, Orders, Phase
from jobops.engine.clock import SECOND
from jobops.engine.deadlines import UNREADABLE_NS, Judge

LEASE = {"started": 100, "hard": 900, "span": 50, "fence": 400}


def board_with_slot() -> Board:
    board = Board(2)
    board.assign(1, 4711, 3, "host-ab12-2.3")
    return board


def test_a_slot_goes_through_its_phases() -> None:
    board = board_with_slot()
    pen = board.pen(1)
    assert board.read(0) is None
    pen.claiming(1)
    entry = board.read(1)
    assert entry is not None
    assert (entry.pid, entry.generation, entry.name) == (4711, 3, "host-ab12-2.3")
    assert (entry.phase, entry.request, entry.lease) == (Phase.CLAIMING, 1, None)
    pen.running(1, "j" * 100, "t" * 24, **LEASE)
    entry = board.read(1)
    assert entry is not None
    assert entry.lease is not None
    assert (entry.phase, entry.lease.job_id, entry.lease.token) == (Phase.RUNNING, "j" * 100, "t" * 24)
    pen.settling(2)
    entry = board.read(1)
    assert entry is not None
    assert entry.lease is not None
    assert (entry.phase, entry.request, entry.lease.seq) == (Phase.SETTLING, 2, 1)
    pen.idle(2)
    entry = board.read(1)
    assert entry is not None
    assert (entry.phase, entry.lease) == (Phase.IDLE, None)
    assert not board.is_busy(1)


def test_a_renewal_moves_the_fence_of_its_own_lease_only() -> None:
    board = board_with_slot()
    pen = board.pen(1)
    pen.running(1, "one", "t", **LEASE)
    board.extend(1, 1, 800)
    entry = board.read(1)
    assert entry is not None
    assert entry.lease is not None
    assert entry.lease.fence == 800
    pen.running(2, "two", "t", **LEASE)
    entry = board.read(1)
    assert entry is not None
    assert entry.lease is not None
    assert entry.lease.fence == 400


def test_orders_add_up_and_a_wiped_place_is_nobodys() -> None:
    board = board_with_slot()
    board.order(1, Orders.RECYCLE)
    board.order(1, Orders.STOP)
    assert board.pen(1).orders == Orders.RECYCLE | Orders.STOP
    board.wipe(1)
    assert board.read(1) is None
    board.assign(1, 4712, 4, "next")
    entry = board.read(1)
    assert entry is not None
    assert (entry.request, entry.lease, board.pen(1).orders) == (0, None, 0)


def test_a_name_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="name"):
        Board(1).assign(0, 1, 1, "x" * 121)


def _write_for_ever(board: Board) -> None:
    pen = board.pen(1)
    seq = 0
    while True:
        seq += 1
        pen.running(seq, f"{seq}" * 3, f"{seq}", started=seq, hard=seq + 1, span=seq + 2, fence=seq + 3)
        pen.settling(seq + 1)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_reader_never_sees_half_of_a_record() -> None:
    board = board_with_slot()
    writer = multiprocessing.get_context("fork").Process(target=_write_for_ever, args=(board,), daemon=True)
    writer.start()
    try:
        whole = 0
        end = time.monotonic() + 20
        while whole < 3000 and time.monotonic() < end:
            entry = board.read(1)
            if entry is not None and entry.lease is not None:
                lease = entry.lease
                assert lease.job_id == lease.token * 3 == f"{lease.seq}" * 3
                assert (lease.started, lease.hard, lease.span, lease.fence) == tuple(lease.seq + n for n in range(4))
                whole += 1
        assert whole == 3000
    finally:
        writer.kill()
        writer.join()


def verdicts(board: Board, now: int, slack: int = 0) -> list[str]:
    return [verdict.reason for verdict in Judge(board, slack).overdue(now)]


def test_a_running_job_is_overdue_past_its_time_out_or_its_fence() -> None:
    board = board_with_slot()
    pen = board.pen(1)
    pen.running(1, "one", "t", **LEASE)
    assert verdicts(board, 400) == []
    assert verdicts(board, 401) == ["fenced"]
    board.extend(1, 1, 2000)
    assert verdicts(board, 901) == ["timeout"]
    assert verdicts(board, 901, slack=50) == []
    assert verdicts(board, 951, slack=50) == ["timeout"]


def test_an_outcome_that_waits_for_redis_is_never_overdue() -> None:
    board = board_with_slot()
    pen = board.pen(1)
    pen.running(1, "one", "t", **LEASE)
    pen.settling(2)
    assert verdicts(board, 10**18) == []


def test_a_record_left_half_written_is_overdue_after_a_while() -> None:
    board = board_with_slot()
    board.pen(1).running(1, "one", "t", **LEASE)
    board._words[1 * 640 // 8 + 4] += 1  # as if stopped after the first word of the lease
    judge = Judge(board)
    assert list(judge.overdue(SECOND)) == []
    assert [v.reason for v in judge.overdue(2 * SECOND + UNREADABLE_NS)] == ["fenced"]
