"""What a claim costs with 10 backlogged tenants and with 10,000: settle + claim in one call, in turns in one run."""

from __future__ import annotations

import statistics
import tempfile
import time

from redis import Redis
from rig import ours
from rig.report import Row, arguments, show

from jobops.embedded import EmbeddedRedis
from jobops.engine.records import ClaimedJob, NewJob, Outcome, Policy
from jobops.engine.scripts import Scripts

LANES = list(ours.LANES)


class Loop:
    """One slot that settles and claims as fast as Redis takes it."""

    def __init__(self, server: EmbeddedRedis, tenants: int, jobs: int) -> None:
        self.scripts: Scripts = ours.engine_at(server.url).scripts
        self.seq = 0
        self.job: ClaimedJob | None = None
        self.costs: list[float] = []
        slugs = [f"tenant-{n}" for n in range(tenants)]
        for slug in slugs:
            self.scripts.set_policy(Policy(slug))
        each = max(2, jobs // tenants + 1)
        data = b'["rig.work.noop",null,[],{}]'
        for slug in slugs:
            batch = [NewJob(f"{slug}-{n}", slug, "bulk", "rig.work.noop", data) for n in range(each)]
            self.scripts.enqueue_many(batch)

    def run(self, calls: int) -> None:
        """Microseconds of each call."""
        for _ in range(calls):
            self.seq += 1
            began = time.perf_counter()
            if self.job is None:
                claim = self.scripts.claim("slot", self.seq, "worker", LANES)
            else:
                settled = self.scripts.settle(
                    "slot", self.seq, self.job.id, self.job.token, Outcome.succeeded(),
                    claim_lanes=LANES, worker="worker",
                )  # fmt: skip
                assert settled.outcome == "succeeded"
                assert settled.claim is not None
                claim = settled.claim
            self.costs.append((time.perf_counter() - began) * 1e6)
            assert claim.job is not None
            self.job = claim.job


def main() -> None:
    args = arguments(__doc__ or "", calls=(6000, "calls with each number of tenants"))
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as other,
        EmbeddedRedis(one) as small,
        EmbeddedRedis(other) as large,
    ):
        redis_version = str(Redis.from_url(small.url).info("server")["redis_version"])
        loops = [Loop(small, 10, args.calls), Loop(large, 10_000, args.calls)]
        for _ in range(20):
            for loop in loops:
                loop.run(args.calls // 20)
        few, many = (statistics.median(loop.costs) for loop in loops)
    rows = [
        Row("settle + claim, 10 tenants, median", few, "µs"),
        Row("settle + claim, 10,000 tenants, median", many, "µs", many / few),
    ]
    show(rows, args.json, redis_version)


if __name__ == "__main__":
    main()
