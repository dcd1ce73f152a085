"""Reads what the jobs of a chaos run wrote, and what ran at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

TERMINAL = ("end", "error", "later")


@dataclass(frozen=True)
class Line:
    """One line that a job wrote. ``at``: on the monotonic clock, in ns."""

    word: str
    job: str
    attempt: int
    tenant: str
    at: int
    pid: int


@dataclass(frozen=True)
class Run:
    """One start of a job, to its last sign of life. ``how``: its last word; "killed" if the test killed its process."""

    job: str
    attempt: int
    tenant: str
    pid: int
    begin: int
    end: int
    how: str


def read_lines(path: Path) -> list[Line]:
    lines = []
    for text in path.read_text().splitlines():
        word, job, attempt, tenant, at, pid = text.split(" ")
        lines.append(Line(word, job, int(attempt), tenant, int(at), int(pid)))
    return sorted(lines, key=lambda line: line.at)


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def starts(lines: Iterable[Line]) -> dict[str, list[int]]:
    """Job → the numbers of its attempts, in the order of their starts."""
    found = defaultdict(list)
    for line in sorted(lines, key=lambda line: line.at):
        if line.word == "start":
            found[line.job].append(line.attempt)
    return dict(found)


def runs(lines: Iterable[Line], killed: Mapping[int, int]) -> list[Run]:
    """What ran, in the order of its start. What left no end went on until its process was killed; of what was killed by
    somebody else than the test only its last line is sure."""
    open_runs: dict[tuple[str, int], list[Line]] = {}
    found: list[Run] = []

    def close(key: tuple[str, int]) -> None:
        own = open_runs.pop(key)
        first, last = own[0], own[-1]
        end, how = last.at, last.word
        if how not in TERMINAL and first.pid in killed:
            end, how = max(last.at, killed[first.pid]), "killed"
        found.append(Run(first.job, first.attempt, first.tenant, first.pid, first.at, end, how))

    for line in sorted(lines, key=lambda line: line.at):
        key = (line.job, line.pid)
        if line.word == "start" and key in open_runs:
            close(key)
        open_runs.setdefault(key, []).append(line)
        if line.word in TERMINAL:
            close(key)
    for key in list(open_runs):
        close(key)
    return sorted(found, key=lambda run: run.begin)


def peaks(intervals: Iterable[tuple[str, int, int]]) -> dict[str, int]:
    """Name → the most of its intervals (name, from, to) at once."""
    events = defaultdict(list)
    for name, begin, end in intervals:
        events[name] += [(begin, 1), (end, -1)]
    highest = {}
    for name, changes in events.items():
        now = top = 0
        # At one instant an end goes before a start.
        for _, change in sorted(changes):
            now += change
            top = max(top, now)
        highest[name] = top
    return highest


def doubled(found: Iterable[Run]) -> list[tuple[Run, Run]]:
    """Runs of one job that overlapped: the earlier and the later."""
    by_job = defaultdict(list)
    for run in found:
        by_job[run.job].append(run)
    return [
        (run, other)
        for own in by_job.values()
        for place, run in enumerate(own)
        for other in own[place + 1 :]
        if other.begin < run.end
    ]
