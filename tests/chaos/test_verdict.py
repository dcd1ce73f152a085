"""The judge itself is judged: it sees what it is there to see."""

from __future__ import annotations

from tests.chaos.verdict import Line, peaks, runs, starts


def line(word: str, job: str, at: int, *, attempt: int = 1, tenant: str = "acme", pid: int = 1) -> Line:
    return Line(word, job, attempt, tenant, at, pid)


def test_overlapping_runs_of_a_tenant_are_counted() -> None:
    lines = [line("start", "a", 0), line("start", "b", 5), line("end", "a", 10), line("end", "b", 12)]
    assert peaks(runs(lines, {})) == {"acme": 2}


def test_runs_that_follow_each_other_are_not_at_once() -> None:
    lines = [line("start", "a", 0), line("end", "a", 10), line("start", "b", 10), line("error", "b", 12)]
    assert peaks(runs(lines, {})) == {"acme": 1}


def test_a_killed_run_lasts_until_its_kill() -> None:
    lines = [line("start", "a", 0, pid=7), line("start", "a", 20, attempt=2), line("end", "a", 30, attempt=2)]
    assert sorted(runs(lines, {7: 15})) == [("acme", 0, 15), ("acme", 20, 30)]
    assert peaks(runs(lines, {7: 25})) == {"acme": 2}


def test_starts_are_listed_in_their_order() -> None:
    lines = [line("start", "a", 9, attempt=2), line("start", "a", 3), line("end", "a", 12, attempt=2)]
    assert starts(lines) == {"a": [1, 2]}
