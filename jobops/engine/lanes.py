"""Lanes that Redis knows: those of the settings, and those that were taken out of them."""

from __future__ import annotations

from jobops.engine.client import Engine


def known_lanes(engine: Engine) -> dict[str, float]:
    """Lane → share, those of the settings first. Jobs may still wait in the others. Raises ``redis.RedisError``."""
    stored = engine.redis.hgetall(engine.keys.lanes())
    known = {lane if isinstance(lane, str) else lane.decode(): float(share) for lane, share in stored.items()}
    return {**engine.lanes, **{lane: known[lane] for lane in sorted(known) if lane not in engine.lanes}}


def of_every_lane(engine: Engine) -> Engine:
    """The same engine with the lanes that the settings no longer name too: for looking. Raises ``redis.RedisError``."""
    return Engine(engine.redis, lanes=known_lanes(engine))
