"""How Redis is set up: it must forget nothing, neither when it is full nor when it restarts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from redis.exceptions import ResponseError

from jobops.doctor.findings import Finding, NotRepaired
from jobops.doctor.site import Site
from jobops.engine.client import Engine
from jobops.engine.link import is_away
from jobops.runtime.memory import memory_guard

_PERMANENTLY = "set for as long as this server runs: write it into its configuration too"


def check(site: Site) -> Iterator[Finding]:
    """Eviction, the append-only file, and what of it a crash may lose."""
    info: Any = site.engine.redis.info("everything")
    policy = str(info.get("maxmemory_policy", ""))
    if policy not in ("", "noeviction"):
        lost = f"; {info['evicted_keys']:,} keys are gone already" if info.get("evicted_keys") else ""
        text = f"maxmemory-policy is {policy}: a full Redis drops jobs that wait instead of refusing new ones{lost}"
        remedy = partial(_set, site.engine, "maxmemory-policy", "noeviction")
        yield Finding("eviction_on", "redis", "", text, remedy=remedy)
    if memory_guard().is_tight():
        text = f"{memory_guard().why()}: enqueues go to the outbox until it has more, or some is freed"
        yield Finding("memory_tight", "redis", "", text)
    if not int(info.get("aof_enabled", 0)):
        text = "there is no append-only file: a restart loses what changed since the last snapshot, or everything"
        yield Finding("append_only_off", "redis", "", text, remedy=partial(_set, site.engine, "appendonly", "yes"))
    elif _setting(site.engine, "appendfsync") == "everysec":
        text = "appendfsync is everysec: a killed Redis may lose a second or two; `always` loses nothing"
        yield Finding("append_fsync_everysec", "redis", "", text, is_note=True)


def _setting(engine: Engine, name: str) -> str:
    """Empty where Redis does not tell: hosted ones know no CONFIG."""
    try:
        values: Any = engine.redis.config_get(name)
    except ResponseError as error:
        if is_away(error):
            raise
        return ""
    return str(values.get(name, ""))


def _set(engine: Engine, name: str, value: str) -> str:
    if _setting(engine, name) == value:
        return ""
    try:
        engine.redis.config_set(name, value)
    except ResponseError as error:
        if is_away(error):
            raise
        why = f"Redis does not let it be set from here ({error}); set {name} {value} where it is run"
        raise NotRepaired(why) from error
    return f"{name} {value}, {_PERMANENTLY}"
