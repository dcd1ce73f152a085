"""What a peer's side is asked to do, on its command line. Imports nothing but the standard library."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

WARM_UP = 20


def main(enqueue: Callable[[str, int], None], work: Callable[[str, int], None]) -> None:
    """``enqueue URL COUNT`` prints how many seconds that took, after a few for connections; ``work URL WORKERS`` does
    not end by itself."""
    what, url, number = sys.argv[1:]
    if what == "work":
        work(url, int(number))
        return
    enqueue(url, WARM_UP)
    began = time.perf_counter()
    enqueue(url, int(number) - WARM_UP)
    print((time.perf_counter() - began) * int(number) / (int(number) - WARM_UP))
