"""The job types that a test declares end with it: no other test finds them in the catalog, the checks or the limits."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobops.contracts import registry
from jobops.contracts.job_type import JobType

ROOT = Path(__file__).parent.parent


@contextmanager
def types_end_here() -> Iterator[None]:
    """Within it job types may be declared; afterwards the registry of this process is as it was before.

    What a module of this repository declared when it was imported meanwhile stays: it is not imported again.
    """
    guarded = registry.registry()
    types, losers, modules = dict(guarded._types), list(guarded._losers), frozenset(sys.modules)
    try:
        yield
    finally:
        fresh = {name: each for name, each in guarded._types.items() if _declared_by_a_fresh_module(each, modules)}
        guarded._types = fresh | types
        guarded._losers = losers


def _declared_by_a_fresh_module(job_type: JobType, before: frozenset[str]) -> bool:
    name = job_type.func.__module__
    if name in before or name not in sys.modules:
        return False
    file = getattr(sys.modules[name], "__file__", None)
    return file is not None and Path(file).is_relative_to(ROOT) and "<locals>" not in job_type.func.__qualname__
