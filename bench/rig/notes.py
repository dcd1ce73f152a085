"""What the bench's jobs wrote about themselves."""

from __future__ import annotations

import os
from pathlib import Path

from rig.work import RESULTS


class Notes:
    """What the jobs wrote: who, enqueued, started, ended."""

    def __init__(self, directory: str) -> None:
        self.path = Path(directory) / "results"
        self.path.touch()
        os.environ[RESULTS] = str(self.path)

    def rows(self) -> list[tuple[str, float, float, float]]:
        split = (line.split() for line in self.path.read_text().splitlines())
        return [(who, float(e), float(s), float(f)) for who, e, s, f in split]

    def waits(self, since: float | None = None) -> list[float]:
        """Milliseconds until each job but the flood's started, from its enqueue or from ``since``."""
        return [(started - (since or enqueued)) * 1000 for who, enqueued, started, _ in self.rows() if who != "flood"]
