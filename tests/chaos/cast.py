"""The jobs of a chaos run: which, whose, when. One seed gives the same ones each time."""

from __future__ import annotations

import random
from typing import NamedTuple

from jobops.engine.payload import encode
from jobops.engine.records import NewJob

LEASE_MS = 3000
NARROW_EVERY, NARROW_TOGETHER = 100, 8


class Kind(NamedTuple):
    """A job type: its share of all jobs, how often it may start, and how long it takes (None: it takes no time)."""

    weight: float
    max_attempts: int
    seconds: tuple[float, float] | None = None


KINDS = {
    "chaos.work": Kind(88, 8, (0.01, 0.06)),
    "chaos.narrow": Kind(0, 15, (0.05, 0.2)),
    "chaos.stumble": Kind(4, 8),
    "chaos.steps": Kind(2, 15, (0.03, 0.1)),
    "chaos.later": Kind(2, 15),
    "chaos.fail": Kind(2, 3),
    "chaos.crash": Kind(0.5, 2),
    "chaos.endure": Kind(1, 30, (2.0, 5.0)),
}
DOOMED = ("chaos.fail", "chaos.crash")


def tenants(count: int) -> dict[str, int]:
    """Tenant → its cap."""
    return {f"tenant-{number}": 1 + number % 3 for number in range(count)}


def make_jobs(chance: random.Random, count: int, slugs: list[str]) -> list[NewJob]:
    """Mostly ordinary work. Some need a resource, fail once, save checkpoints, ask to come later or outlast a lease; a
    few always fail or kill their process. Some are delayed, some share a key."""
    kinds, weights = list(KINDS), [kind.weight for kind in KINDS.values()]
    drawn = chance.choices(kinds, weights, k=count)
    for number in range(count):
        if number % NARROW_EVERY < NARROW_TOGETHER:  # together, so that there are too many of them at once
            drawn[number] = "chaos.narrow"
    return [_job(chance, number, name, chance.choice(slugs)) for number, name in enumerate(drawn)]


def _job(chance: random.Random, number: int, name: str, tenant: str) -> NewJob:
    kind = KINDS[name]
    # Two of a key follow each other closely; the first waits long enough to stand in the second one's way.
    place = (number - NARROW_TOGETHER) % 40
    key = f"key-{(number - NARROW_TOGETHER) // 40}" if name == "chaos.work" and place < 2 else ""
    if key:
        tenant = f"tenant-{(number - NARROW_TOGETHER) // 40 % 10}"
    arguments = {"seconds": round(chance.uniform(*kind.seconds), 4)} if kind.seconds else {}
    return NewJob(
        id=f"{name.removeprefix('chaos.')}-{number}",
        tenant=tenant,
        lane=chance.choice(["interactive", "bulk"]),
        job_type=name,
        data=encode(name, (), arguments),
        max_attempts=kind.max_attempts,
        timeout_ms=20_000,
        lease_ms=LEASE_MS,
        delay_ms=3000 if key else 0 if name == "chaos.narrow" else chance.choice([0, 0, 0, 500, 3000]),
        key=key,
        resource="narrow" if name == "chaos.narrow" else "",
        front=number % 50 == 0,
    )
