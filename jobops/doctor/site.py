"""What a check gets: the installation, and the means to look twice."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from jobops.engine.client import Engine


@dataclass(slots=True)
class Site:
    """``grace_s``: how long to wait before looking again at what may be on its way. ``looked_at``: kind → how many."""

    engine: Engine
    grace_s: float = 2.0
    looked_at: Counter[str] = field(default_factory=Counter)

    def wait(self) -> None:
        """Let what is on its way arrive."""
        time.sleep(self.grace_s)
