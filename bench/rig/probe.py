"""How long a settle + claim takes while something else keeps Redis busy, as one client sees it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from jobops.engine.client import Engine
from jobops.engine.records import ClaimedJob, Outcome, Policy
from rig import ours


def share_of(values: Sequence[float], share: float) -> float:
    """The value that so much of them (0.99: the p99) does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Probe:
    """One slot of its own tenant and lane that settles and claims without a pause. ``jobs``: how many there are."""

    TENANT, LANE, PAUSE_S = "probe", "probe", 0.001

    def __init__(self, engine: Engine, jobs: int) -> None:
        self._scripts = engine.scripts
        self._scripts.set_lanes({**ours.LANES, self.LANE: 1.0})
        self._scripts.set_policy(Policy(self.TENANT, cap=None))
        for first in range(0, jobs, 2000):
            batch = (ours.new_job(self.TENANT, "noop", lane=self.LANE) for _ in range(min(2000, jobs - first)))
            ours.enqueue(engine, batch)
        self._seq = 1
        self._job = self._scripts.claim("probe", 1, "probe", [self.LANE]).job

    def until(self, condition: Callable[[], object], seconds: float, every: float = 0.05) -> list[float]:
        """Milliseconds of each call until ``condition()``, which is asked so often, is true.

        Raises TimeoutError when it is not within so many seconds, or when the jobs run out.
        """
        took: list[float] = []
        deadline, look = time.monotonic() + seconds, 0.0
        while True:
            now = time.monotonic()
            if now >= look:
                if condition():
                    return took
                look = now + every
            if now > deadline:
                raise TimeoutError(f"not within {seconds:g} s")
            took.append(self._once())
            time.sleep(self.PAUSE_S)

    def _once(self) -> float:
        job: ClaimedJob | None = self._job
        if job is None:
            raise TimeoutError("the probe's jobs ran out")
        self._seq += 1
        began = time.perf_counter()
        settled = self._scripts.settle(
            "probe", self._seq, job.id, job.token, Outcome.succeeded(), claim_lanes=[self.LANE], worker="probe"
        )
        took = (time.perf_counter() - began) * 1000
        self._job = settled.claim.job if settled.claim is not None else None
        return took
