"""Jobs that nobody will ever take: in lanes that no living worker serves, and in queues that nothing knows (RD-02).

A queue that a release renamed, or a lane that left the settings, must not fill unseen.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from jobops.engine import keys as rq
from jobops.engine.client import Engine
from jobops.engine.lanes import known_lanes
from jobops.engine.queues import read_queues

_PREFIX = "rq:queue:"
BATCH = 1000
MOST_SCANNED = 200_000
"""Names of queues that one look passes at most."""
STRAY_EVERY_S = 15.0
"""How long what was found of strange queues is believed: looking for them passes every queue's name."""


@dataclass(frozen=True, slots=True)
class Unserved:
    """Where jobs wait for nobody. ``kind``: a ``lane`` without a worker, or a ``queue`` that is nobody's: its lane is
    not one, or its name is not ``<tenant>.<lane>``. ``former``: the lane is one that the settings no longer name."""

    kind: str
    name: str
    depth: int
    former: bool = False

    @property
    def text(self) -> str:
        """What is wrong and what to do, for people."""
        jobs = f"{self.depth:,} {'job waits' if self.depth == 1 else 'jobs wait'} in {self.kind} {self.name}"
        if self.kind == "queue":
            return f"{jobs}, which is no queue of a tenant and a lane here: no worker serves it"
        left = ", which JOBOPS_LANES no longer names" if self.former else ""
        return f"{jobs}{left}, and no living worker serves it: start one with `manage.py worker --lanes {self.name}`"


def unserved_lanes(engine: Engine, served: Collection[str]) -> list[Unserved]:
    """Lanes with waiting jobs that no living worker serves. ``served``: those that one does.

    Raises ``redis.RedisError``.
    """
    lanes = {lane: share for lane, share in known_lanes(engine).items() if lane not in served}
    if not lanes:
        return []
    depths = dict.fromkeys(lanes, 0)
    for queue in read_queues(Engine(engine.redis, lanes=lanes, prefix=engine.keys.prefix)):
        depths[queue.lane] += queue.depth
    return [Unserved("lane", lane, depth, lane not in engine.lanes) for lane, depth in depths.items() if depth]


def stray_queues(engine: Engine) -> list[Unserved]:
    """Queues with jobs that are none of ours, and that no worker of plain RQ listens to either.

    Passes the names of all queues. Raises ``redis.RedisError``.
    """
    found: list[Unserved] = []
    lanes, cursor, seen = known_lanes(engine), 0, 0
    while seen < MOST_SCANNED:
        cursor, names = engine.redis.sscan(rq.RQ_QUEUES, cursor=cursor, count=BATCH)
        seen += len(names)
        found += _stray(engine, [name for name in map(_plain, names) if not _is_ours(name, lanes)])
        if not cursor:
            break
    return sorted(found, key=lambda each: (-each.depth, each.name))


class StrayReader:
    """Keeps what it found for a while: pages ask each second."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[float, list[Unserved]]] = {}

    def read(self, engine: Engine) -> list[Unserved]:
        """The strange queues, at most ``STRAY_EVERY_S`` old. Raises ``redis.RedisError``."""
        at, found = self._kept.get(id(engine), (0.0, []))
        if not at or time.monotonic() - at > STRAY_EVERY_S:
            found = stray_queues(engine)
            self._kept = {id(engine): (time.monotonic(), found)}
        return found

    def forget(self) -> None:
        """Look anew at the next call."""
        self._kept = {}


def _stray(engine: Engine, names: list[str]) -> Iterable[Unserved]:
    with engine.redis.pipeline(transaction=False) as pipe:
        for name in names:
            pipe.llen(rq.rq_queue(name))
            pipe.exists(f"rq:workers:{name}")  # where a worker of plain RQ says that it listens to it
        answers: list[Any] = pipe.execute(raise_on_error=False)
    for name, depth, workers in zip(names, answers[::2], answers[1::2], strict=True):
        if isinstance(depth, int) and depth and not workers:
            yield Unserved("queue", name, depth)


def _plain(name: Any) -> str:
    text = name.decode(errors="backslashreplace") if isinstance(name, bytes) else str(name)
    return text.removeprefix(_PREFIX)


def _is_ours(queue: str, lanes: Collection[str]) -> bool:
    try:
        return rq.split_queue(queue)[1] in lanes
    except ValueError:
        return False
