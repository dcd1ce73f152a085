"""How many deaths a second the dead intake takes from Redis into SQLite, or into the database BENCH_DATABASE_URL."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from redis import Redis
from rig import ours
from rig.report import Row, arguments, show

from jobops.embedded import EmbeddedRedis
from jobops.engine.client import Engine
from jobops.engine.records import NewJob, Outcome, Policy

TRACEBACK = "Traceback (most recent call last):\n" + '  File "/srv/shop/jobs.py", line 88, in deliver\n' * 20
LANES = list(ours.LANES)


def prepare_django(home: Path) -> None:
    """A database of its own, migrated. ``DATABASE_URL`` is not looked at: it may name one that matters."""
    os.environ |= {
        "DATABASE_URL": os.environ.get("BENCH_DATABASE_URL") or f"sqlite:///{home}/bench.sqlite3",
        "JOBOPS_VAR": str(home),
        "SECRET_KEY": "only for the bench, known to everybody",
        "JOBOPS_LOG_LEVEL": "ERROR",
        "DJANGO_SETTINGS_MODULE": "jobops.settings",
    }
    # A script's own folder comes first on the path, and there `tenants` is the bench of that name.
    sys.path.remove(str(Path(__file__).resolve().parent))
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def kill_jobs(engine: Engine, count: int, name: str) -> None:
    """So many jobs that died in their first attempt, as a worker would have settled them."""
    engine.scripts.set_policy(Policy("acme", cap=None))
    data = b'["rig.work.noop",null,[],{"order":58112,"url":"https://hooks.example/x"}]'
    engine.scripts.enqueue_many([NewJob(f"{name}-{n}", "acme", "bulk", "rig.work.noop", data) for n in range(count)])
    outcome = Outcome.failed("poison", "WebhookError", "POST answered 400 Bad Request", TRACEBACK)
    slot = f"slot-{name}"
    claim = engine.scripts.claim(slot, 1, "worker", LANES)
    for seq in range(2, count + 2):
        assert claim.job is not None
        settled = engine.scripts.settle(
            slot, seq, claim.job.id, claim.job.token, outcome, claim_lanes=LANES, worker="worker"
        )
        assert settled.claim is not None
        claim = settled.claim


def main() -> None:
    args = arguments(__doc__ or "", rounds=(3, "rounds, the median counts"), deaths=(3000, "deaths per round"))
    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        prepare_django(Path(directory))
        from django.db import connection

        from dlq.intake import take_in

        engine = ours.engine_at(server.url)
        speeds = []
        for turn in range(args.rounds):
            kill_jobs(engine, args.deaths, f"r{turn}")
            began, taken = time.perf_counter(), 0
            while done := take_in(engine):
                taken += done
            speeds.append(taken / (time.perf_counter() - began))
        redis_version = str(Redis.from_url(server.url).info("server")["redis_version"])
        name = f"dead intake, {connection.vendor}, batches of 500"
    show([Row(name, statistics.median(speeds), "letters/s")], args.json, redis_version)


if __name__ == "__main__":
    main()
