"""Workers that have announced themselves, without a process."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from jobops.engine.client import Engine
from jobops.engine.registrations import SlotReport, SupervisorReport, announce

HEARTBEAT_MS = 5_000


def worker(engine: Engine, name: str = "host-0a1b2c3d", *, slots: int = 1, **fields: Any) -> None:
    """A supervisor that reported just now; it serves both lanes and tells nothing of its job types."""
    values: dict[str, Any] = {
        "id": name, "host": "host", "pid": 1, "lanes": ("interactive", "bulk"), "started_at_ms": 1,
        "heartbeat_ms": HEARTBEAT_MS, "draining": False, "jobs": 0, "version": "1",
    }  # fmt: skip
    report = SupervisorReport(**(values | fields))
    born = datetime.now(UTC)
    announce(engine, report, [SlotReport(f"{name}-{n}.1", 1, False, "", 0, 0, 0.0, born) for n in range(slots)])


def idle_slot(engine: Engine, name: str = "host-0a1b2c3d-0.1") -> None:
    """A slot of it that waits for work. Call while there is none."""
    assert engine.scripts.claim(name, 1, name, ["interactive", "bulk"], 60_000).job is None
