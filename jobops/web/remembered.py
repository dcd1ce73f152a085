"""What takes long to read is kept for a while, in this process: so that reading it takes a small share of the time,
however many people look, and however often their pages poll."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")

TIMES = 60
"""Kept for so many times as long as it took."""


class Remembered(Generic[T]):
    """Values by key. What took less than ``quick_s`` is read anew each time; nothing is kept for longer than
    ``most_s``, and no more than ``size`` values."""

    def __init__(self, *, quick_s: float, most_s: float, size: int = 1) -> None:
        self.quick_s, self.most_s, self.size = quick_s, most_s, size
        self._kept: dict[Hashable, tuple[float, T]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, read: Callable[[], T]) -> T:
        """The value, read now or a while ago. Raises what ``read`` raises; then nothing is kept."""
        with self._lock:
            until, value = self._kept.get(key, (0.0, None))
        if value is not None and time.monotonic() < until:
            return value
        began = time.monotonic()
        found = read()
        took = time.monotonic() - began
        with self._lock:
            self._kept.pop(key, None)
            if took >= self.quick_s:
                self._kept[key] = (time.monotonic() + min(self.most_s, TIMES * took), found)
            while len(self._kept) > self.size:
                self._kept.pop(next(iter(self._kept)))
        return found

    def forget(self) -> None:
        """Read everything anew from now on."""
        with self._lock:
            self._kept.clear()
