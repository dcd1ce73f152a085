"""The real scripts on a real Redis, on a clock that the test moves: hours of fairness in seconds."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from importlib.resources import files

from jobops.engine.client import Engine
from jobops.engine.lua_source import source
from jobops.engine.records import ClaimedJob, Outcome
from jobops.engine.scripts import Scripts

CLOCK = (files("jobops.engine") / "lua" / "include" / "clock.lua").read_text()
VIRTUAL = """
local now_us = tonumber(redis.call('GET', ARGV[1] .. ':test-clock'))
local now = math.floor(now_us / 1000)
local now_text = string.format("%d", now)
"""
START_US = 1_800_000_000_000_000


class VirtualScripts(Scripts):
    """Scripts whose clock is a key."""

    def _sha(self, name: str) -> str:
        if name not in self._shas:
            text = source(name)
            self._shas[name] = self.redis.script_load(text.replace(CLOCK, VIRTUAL))
        return self._shas[name]

    def set_clock(self, ms: float) -> None:
        self.redis.set(f"{self.keys.prefix}:test-clock", int(START_US + ms * 1000))


def virtual(engine: Engine) -> Engine:
    """The same engine on a clock that stands at 0 until moved."""
    scripts = VirtualScripts(engine.redis, engine.keys)
    scripts.set_clock(0)
    engine.scripts = scripts
    engine.prepare()
    return engine


def simulate(
    engine: Engine, *, slots: int, until_ms: float, run_ms: Callable[[ClaimedJob], float], lanes: list[str]
) -> Iterator[tuple[float, float, ClaimedJob]]:
    """Runs slots event by event; yields (start, end, job) for each run. No time passes between settle and claim."""
    scripts = engine.scripts
    assert isinstance(scripts, VirtualScripts)
    free = [(0.0, n, None) for n in range(slots)]
    seqs = [0] * slots
    heap: list[tuple[float, int, ClaimedJob | None]] = list(free)
    heapq.heapify(heap)
    while heap:
        now, slot, job = heapq.heappop(heap)
        if now > until_ms:
            return
        scripts.set_clock(now)
        seqs[slot] += 1
        if job is None:
            claim = scripts.claim(f"s{slot}", seqs[slot], f"w{slot}", lanes)
        else:
            settled = scripts.settle(
                f"s{slot}", seqs[slot], job.id, job.token, Outcome.succeeded(), claim_lanes=lanes, worker=f"w{slot}"
            )
            assert settled.outcome == "succeeded"
            assert settled.claim is not None
            claim = settled.claim
        if claim.job is None:
            heapq.heappush(heap, (now + max(claim.wait_ms, 1) / 100, slot, None))
        else:
            end = now + run_ms(claim.job)
            yield now, end, claim.job
            heapq.heappush(heap, (end, slot, claim.job))
