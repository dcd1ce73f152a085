"""Where the system ends: what it rests on, what it promises across that edge, and where its capacity is measured."""

from __future__ import annotations

from collections.abc import Sequence

from jobops.contracts.catalog.design import Chapter, JobDesign
from jobops.contracts.catalog.facts import Installation, Measured
from jobops.contracts.catalog.words import NOT_MEASURED, listed, plural

INTRO = "Redis holds what waits and runs; the database holds what people own. Claim and settle touch no database."
COLUMNS = ("boundary", "what holds", "measured")
DURABILITY = ("appendonly", "appendfsync", "maxmemory-policy")

TRANSPORT = "Redis 6.2 or later, one primary, no Cluster; jobs in RQ's own format, so that RQ's tools see them"
WANTED = (
    "appendonly yes, appendfsync always, maxmemory-policy noeviction; with less, a crash of Redis may take back what "
    "it had acknowledged"
)
RECORD = "tenants, people, outbox, dead letters and the audit, in PostgreSQL, or in SQLite on one machine"
DELIVERY = "at least once: a second run is possible after a lost worker, a lost reply or a replay"
OUTBOX = "a row of the outbox, pushed on commit; also what an enqueue falls back to while Redis is away"
CAPACITY = (
    "measured in `bench/`: throughput, fairness, latency, cost by tenants, intake of deaths; `make bench` repeats it, "
    "`bench/README.md` keeps the figures"
)


def chapter(jobs: Sequence[JobDesign], installation: Installation, measured: Measured) -> Chapter:
    """Transport, record, delivery, payloads, capacity."""
    redis = measured.live.redis if measured.live else {}
    version = f"Redis {redis['version']}" if redis.get("version") else NOT_MEASURED
    known = listed([f"{name} {redis[name]}" for name in DURABILITY if redis.get(name)])
    masked = sum(bool(job.redacted) for job in jobs)
    payload = (
        f"JSON of at most {installation.payload_limit:,} bytes; nothing that is read is unpickled or imported; "
        f"{masked} of {plural(len(jobs), 'job type')} name arguments to mask"
    )
    rows = (
        ("Transport", TRANSPORT, version),
        ("Durability", WANTED, known or NOT_MEASURED),
        ("Record", RECORD, installation.database),
        ("Delivery", DELIVERY, ""),
        ("Enqueue in a transaction", OUTBOX, ""),
        ("Payload", payload, ""),
        ("Capacity", CAPACITY, ""),
        ("Other systems", "reached by the jobs alone, as their side effects say", ""),
    )
    return Chapter("boundaries", "Boundaries", INTRO, COLUMNS, rows)
