"""kill -9, SIGSTOP past a lease and Redis gone, every second, while 10,000 jobs of 20 tenants run. Exit code 1 if
anything is lost, stuck, started too often, over a cap or in two places."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rig.chaos_stage import stage
from rig.report import arguments, show

TENANTS = 20
WORKERS = 3


def main() -> int:
    args = arguments(
        __doc__ or "",
        jobs=(10_000, "jobs"),
        seconds=(240, "how long something is harmed, every second"),
        seed=(0, "of what happens; 0: another one each time"),
    )
    seed = args.seed or random.randrange(1, 10**6)
    print(f"seed {seed}", file=sys.stderr)
    from tests.chaos.cast import make_jobs, tenants

    caps = tenants(TENANTS)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder, stage(Path(folder), caps) as (redis, environment):
        from rig.chaos_figures import rows

        from jobops.runtime import get_engine
        from tests.chaos.judgement import judge
        from tests.chaos.play import Play

        chance = random.Random(seed)
        jobs = make_jobs(chance, args.jobs, list(caps))
        play = Play(get_engine(), redis, environment, Path(folder), chance)
        evidence, theatre = play.run(jobs, caps, seconds=args.seconds, workers=WORKERS)
        found = judge(evidence)
        table = rows(evidence, theatre, play)
        version = str(get_engine().redis.info("server")["redis_version"])
    if args.json:
        print(json.dumps({"seed": seed, "rows": [asdict(row) for row in table], "found": found}, indent=1))
    else:
        show(table, False, version)
        print("\n".join(f"WRONG  {each}" for each in found) or "nothing is wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
