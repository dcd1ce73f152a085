"""How long the runs of each job type took, as the engine counted them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jobops.contracts.catalog.facts import LEAST_RUNS, RunTimes
from jobops.contracts.job_type import JobType
from jobops.engine.client import Engine
from jobops.engine.keys import average_field
from jobops.engine.queues import type_counters
from jobops.metrics.minutes import KEPT


def read_run_times(engine: Engine, job_types: Iterable[JobType], now_ms: int) -> dict[str, RunTimes]:
    """By name of the type, over the last ``KEPT`` minutes and the running one; ``now_ms`` is on Redis's clock.

    Runs under a former name count too. Raises ``redis.RedisError``.
    """
    types = list(job_types)
    counters = type_counters(engine, KEPT)
    names = [average_field(job_type.name) for job_type in types]
    averages: Any = engine.redis.hmget(engine.keys.cell(), names) if names else []
    over_s = KEPT * 60 + now_ms % 60_000 / 1000
    return {
        job_type.name: run_times(_buckets(job_type, counters), _seconds(average), over_s)
        for job_type, average in zip(types, averages, strict=True)
    }


def run_times(buckets: Mapping[int, int], average_s: float | None, over_s: float) -> RunTimes:
    """From counts by bucket: bucket ``k`` holds the runs of up to 2**k milliseconds, and over half of that."""
    runs = sum(buckets.values())
    p99_s, seen = None, 0
    if runs >= LEAST_RUNS:
        for bucket in sorted(buckets):
            seen += buckets[bucket]
            if seen * 100 >= runs * 99:
                p99_s = 2.0**bucket / 1000
                break
    return RunTimes(runs, average_s, p99_s, over_s)


def _buckets(job_type: JobType, counters: Mapping[str, Mapping[str, int]]) -> dict[int, int]:
    buckets: dict[int, int] = {}
    for name in (job_type.name, *job_type.aliases):
        for what, count in counters.get(name, {}).items():
            if what[:1] == "b" and what[1:].isdigit() and len(what) < 4:
                buckets[int(what[1:])] = buckets.get(int(what[1:]), 0) + count
    return buckets


def _seconds(average_ms: bytes | None) -> float | None:
    try:
        return float(average_ms) / 1000 if average_ms is not None else None
    except ValueError:
        return None  # somebody else's text under our key
