"""An end in time whatever the other side does: a socket's own time limit begins anew with every byte, so that one that
drips could go on for ever."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Protocol


class Cuttable(Protocol):
    """What can be ended from another thread."""

    def cut(self) -> None:
        """End it: whoever waits for a byte gets an error."""


@contextlib.contextmanager
def ended_in_time(what: Cuttable, after_s: float) -> Iterator[None]:
    """Cut it when the block is not done by then."""
    watch = threading.Timer(after_s, what.cut)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()
