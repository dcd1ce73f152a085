"""Several who do the same work at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.db import connection


def at_once(work: Callable[[], object], times: int) -> None:
    """Runs it in so many threads that begin together; none of them may raise."""
    start, errors = threading.Barrier(times), []

    def run() -> None:
        try:
            start.wait()
            work()
        except Exception as error:  # noqa: BLE001
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def twice_at_once(work: Callable[[], object]) -> None:
    """Trap 7: a lock only makes two leaders rare."""
    at_once(work, 2)
