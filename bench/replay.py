"""How many members a second a replay of many sends into Redis, its limiter off: from the confirmation to the last job.

Into SQLite, or the database BENCH_DATABASE_URL. Letters of 50 tenants and three causes, each with an error's traceback.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

from intake import TRACEBACK, prepare_django
from redis import Redis
from rig.report import Row, arguments, show

from jobops.embedded import EmbeddedRedis

TENANTS, CAUSES = 50, 3
JOB = "rig.replayed"


def register() -> None:
    from jobops.contracts.decorator import job

    @job(name=JOB, owner="rig", drain_sla="4h", idempotent="does nothing", lane="bulk", timeout="30s")
    def replayed(order: int, url: str) -> None:
        """Nothing."""


def tenants() -> list[Any]:
    from tenants.services import tenant_create

    return [tenant_create(slug=f"tenant-{n:02}", by="bench").tenant for n in range(TENANTS)]


def causes() -> list[Any]:
    from dlq.models import DeadLetterGroup

    return [DeadLetterGroup.objects.create(fingerprint=uuid.uuid4().hex, owner="rig") for _ in range(CAUSES)]


def fill(count: int, owners: list[Any]) -> None:
    """So many open letters, of all the tenants alike."""
    from django.utils import timezone

    from dlq.models import DeadLetter

    now, groups, name = timezone.now(), causes(), uuid.uuid4().hex[:12]

    def letter(n: int) -> Any:
        tenant = owners[n % TENANTS]
        return DeadLetter(
            job_id=f"{name}-{n}", attempt=1, attempts=1, tenant=tenant, tenant_slug=tenant.slug, lane="bulk",
            job_type=JOB, payload=f'{{"args": [], "kwargs": {{"order": {n}, "url": "https://hooks.example/x"}}}}',
            owner="rig", reason="exhausted", error_class="WebhookError", error="POST answered 503",
            traceback=TRACEBACK, dead_at=now, due_at=now + timedelta(hours=4), group=groups[n % CAUSES],
        )  # fmt: skip

    for start in range(0, count, 5000):
        DeadLetter.objects.bulk_create([letter(n) for n in range(start, min(count, start + 5000))], batch_size=500)


def replay_all(batch: int) -> tuple[int, float, float]:
    """Replay what is open; answers how many, seconds until it was confirmed, and from then on to the last one."""
    from dlq.bulk import bulk_confirm, bulk_draft
    from dlq.bulk_run import run_batch
    from dlq.models import DeadLetter
    from dlq.replay_plan import AT_ONCE

    began = time.perf_counter()
    bulk = bulk_draft(kind="replay", letters=DeadLetter.objects.filter(state="open"), by="bench", chosen="")
    bulk_confirm(bulk_id=bulk.pk, by="command:bench", plan=AT_ONCE)
    confirmed = time.perf_counter()
    while run_batch(bulk.pk, batch):
        pass
    ended = time.perf_counter()
    bulk.refresh_from_db()
    assert (bulk.state, bulk.skipped) == ("finished", 0), (bulk.state, bulk.skipped_for)
    return bulk.done, confirmed - began, ended - confirmed


def queued(redis: Redis) -> int:
    return sum(int(redis.llen(f"rq:queue:tenant-{n:02}.bulk")) for n in range(TENANTS))


def main() -> None:
    args = arguments(
        (__doc__ or "").splitlines()[0],
        members=(100_000, "members of each replay"),
        rounds=(1, "rounds, the median counts"),
        batch=(2_000, "members in a batch, as the scheduler takes them"),
    )
    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        os.environ["JOBOPS_REDIS_URL"] = server.url
        prepare_django(Path(directory))
        from django.db import connection

        register()
        owners, redis = tenants(), Redis.from_url(server.url)
        speeds, fixing = [], []
        for _ in range(args.rounds):
            before = queued(redis)
            fill(args.members, owners)
            done, fixed_s, sent_s = replay_all(args.batch)
            arrived = queued(redis) - before
            if not done == arrived == args.members:
                raise SystemExit(f"{args.members} members, {done} done, {arrived} jobs arrived")
            speeds.append(done / sent_s)
            fixing.append(fixed_s)
        redis_version = str(redis.info("server")["redis_version"])
        name = f"replay of {args.members:,}, {connection.vendor}, batches of {args.batch}"
    rows = [
        Row(f"{name}: limiter off", statistics.median(speeds), "members/s"),
        Row(f"{name}: fixed and confirmed in", statistics.median(fixing), "s"),
    ]
    show(rows, args.json, redis_version)


if __name__ == "__main__":
    main()
