"""Clocks that a test sets: in a worker process that is told so, the wall clock and the clock of deadlines show
what they would, plus what a shared file says. Import it before anything of ours takes a clock by its name."""

from __future__ import annotations

import mmap
import os
import struct
import time
from pathlib import Path
from typing import Any

VARIABLE = "JOBOPS_TEST_CLOCKS"
_SECONDS = struct.Struct("=dd")


class Clocks:
    """The test's end: a file of two offsets, in seconds, that every process of the worker maps."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(_SECONDS.size))
        self.path = path

    @property
    def env(self) -> dict[str, str]:
        return {VARIABLE: str(self.path)}

    def set(self, *, wall: float = 0.0, boot: float = 0.0) -> None:
        """The wall clock jumps, and the one that counts a suspended machine's sleep."""
        with self.path.open("r+b") as file:
            file.write(_SECONDS.pack(wall, boot))


def _shift() -> None:
    with Path(os.environ[VARIABLE]).open("r+b") as file:
        memory = mmap.mmap(file.fileno(), _SECONDS.size)
    wall, wall_ns, get_ns = time.time, time.time_ns, time.clock_gettime_ns

    def offset(place: int) -> float:
        return float(_SECONDS.unpack(memory)[place])

    def clock_gettime_ns(clock: int) -> int:
        return get_ns(clock) + (int(offset(1) * 1e9) if clock == time.CLOCK_BOOTTIME else 0)

    shifted: Any = time
    shifted.time = lambda: wall() + offset(0)
    shifted.time_ns = lambda: wall_ns() + int(offset(0) * 1e9)
    shifted.clock_gettime_ns = clock_gettime_ns


if VARIABLE in os.environ:
    _shift()
