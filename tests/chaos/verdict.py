"""Judges a chaos run by what the jobs themselves did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Line:
    """One line that a job wrote."""

    word: str
    job: str
    attempt: int
    tenant: str
    at: int
    pid: int


def read_lines(path: Path) -> list[Line]:
    lines = []
    for text in path.read_text().splitlines():
        word, job, attempt, tenant, at, pid = text.split(" ")
        lines.append(Line(word, job, int(attempt), tenant, int(at), int(pid)))
    return lines


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def starts(lines: Iterable[Line]) -> dict[str, list[int]]:
    """Job → the numbers of its attempts, in the order of their starts."""
    found = defaultdict(list)
    for line in sorted(lines, key=lambda line: line.at):
        if line.word == "start":
            found[line.job].append(line.attempt)
    return dict(found)


def runs(lines: Iterable[Line], killed: Mapping[int, int]) -> list[tuple[str, int, int]]:
    """(tenant, from, to) of each attempt. One that left no end went on until its process was killed; of one that was
    killed by somebody else than the test only the start is sure."""
    begun = {(line.job, line.attempt): line for line in lines if line.word == "start"}
    ended = {(line.job, line.attempt): line.at for line in lines if line.word in ("end", "error")}
    found = []
    for name, start in begun.items():
        until = ended.get(name, killed.get(start.pid, start.at))
        found.append((start.tenant, start.at, max(start.at, until)))
    return found


def peaks(found: Iterable[tuple[str, int, int]]) -> dict[str, int]:
    """Tenant → the most attempts that ran at once."""
    events = defaultdict(list)
    for tenant, begin, end in found:
        events[tenant] += [(begin, 1), (end, -1)]
    highest = {}
    for tenant, changes in events.items():
        now = top = 0
        # At one instant an end goes before a start.
        for _, change in sorted(changes):
            now += change
            top = max(top, now)
        highest[tenant] = top
    return highest
