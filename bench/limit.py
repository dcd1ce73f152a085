"""What Redis takes at most: settle + claim by the bare scripts, many slots' calls in each round trip; and how much of
that workers reach, in turns in one run."""

from __future__ import annotations

import statistics
import tempfile

from redis import Redis
from rig import ours
from rig.report import Row, arguments, show
from throughput import run_ours

from jobops.embedded import EmbeddedRedis
from jobops.engine.records import Policy

SLOTS = 8
LANES = list(ours.LANES)


def bare(server: EmbeddedRedis, count: int) -> float:
    """Jobs a second of Redis's own processor time: what a client that is always ready would get."""
    redis = Redis.from_url(server.url)
    redis.flushall()
    engine = ours.engine_at(server.url)
    scripts = engine.scripts
    scripts.set_policy(Policy("acme", cap=None))
    ours.enqueue(engine, [ours.new_job("acme", "noop") for _ in range(count + SLOTS)])
    names = [f"slot-{n}" for n in range(SLOTS)]
    held = []
    for name in names:
        redis.hset(f"rq:worker:{name}", "name", name)
        claimed = scripts.claim(name, 1, name, LANES).job
        assert claimed is not None
        held.append((claimed.id, claimed.token))
    began, seq, done = processor_s(redis), 1, 0
    while done < count - SLOTS:
        seq += 1
        calls = [
            (name, seq, job, token, "succeeded", "", "", "", "", "", 0, b"null", name, f"{seq}-{name}", 1000, *LANES)
            for name, (job, token) in zip(names, held, strict=True)
        ]
        answers = scripts._pipeline("settle", calls)
        held = [(answer[2][0], answer[2][1]) for answer in answers]
        done += len(answers)
    return done / (processor_s(redis) - began)


def processor_s(redis: Redis) -> float:
    used = redis.info("cpu")
    return float(used["used_cpu_user"] + used["used_cpu_sys"])


def main() -> None:
    args = arguments(__doc__ or "", rounds=(5, "rounds, the median counts"), jobs=(6000, "jobs per round"))
    rounds = []
    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        redis_version = str(Redis.from_url(server.url).info("server")["redis_version"])
        for _ in range(args.rounds):
            most = bare(server, args.jobs)
            rounds.append((most, run_ours(server, 1, args.jobs), run_ours(server, 2, args.jobs)))
    rows = [Row("bare scripts, a second of Redis's processor", statistics.median(each[0] for each in rounds), "jobs/s")]
    for slots in (1, 2):
        ratio = statistics.median(each[slots] / each[0] for each in rounds)
        rows.append(Row(f"jobops, {slots} slot(s)", statistics.median(each[slots] for each in rounds), "jobs/s", ratio))
    show(rows, args.json, redis_version)


if __name__ == "__main__":
    main()
