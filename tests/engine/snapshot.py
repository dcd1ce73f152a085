"""Redis at one instant, in Python's terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jobops.engine.client import Engine

# One step, so that a running system is seen at one instant.
_SNAPSHOT = """
local out = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind, value = redis.call('TYPE', key).ok, nil
  if string.sub(key, 1, 7) == 'rq:job:' and kind == 'hash' then
    value = redis.call('HMGET', key, 'status', 'origin', 'jo_type', 'jo_key', 'jo_tenant', 'jo_attempt',
      'jo_max_attempts', 'jo_waits')
    for i = 1, 8 do value[i] = value[i] or '' end
    value[9] = tostring(redis.call('TTL', key))
  elseif kind == 'hash' then value = redis.call('HGETALL', key)
  elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1)
  elseif kind == 'set' then value = redis.call('SMEMBERS', key)
  elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  elseif kind == 'string' then value = {redis.call('GET', key)}
  else value = {} end
  out[#out + 1] = {key, kind, value}
end
return out
"""


@dataclass
class _Job:
    status: str
    origin: str
    job_type: str
    key: str
    tenant: str
    attempt: int
    max_attempts: int
    waits: str
    ttl: int


class Snapshot:
    """Redis at one instant, in Python's terms."""

    def __init__(self, engine: Engine) -> None:
        self.keys = engine.keys
        self.lanes: list[str] = []
        self._at: dict[str, Any] = {}
        self.jobs: dict[str, _Job] = {}
        for raw_key, kind, raw in engine.redis.eval(_SNAPSHOT, 0):
            key, value = _text(raw_key), [_text(part) for part in raw]
            if key.startswith("rq:job:") and kind == b"hash":
                self.jobs[key[7:]] = _Job(*value[:5], _int(value[5]), _int(value[6], 1), value[7], _int(value[8]))
            elif kind == b"hash":
                self._at[key] = dict(zip(value[::2], value[1::2], strict=True))
            elif kind == b"zset":
                self._at[key] = {m: float(score) for m, score in zip(value[::2], value[1::2], strict=True)}
            elif kind == b"string":
                self._at[key] = value[0]
            else:
                self._at[key] = value
        self.lanes = sorted(self.get(self.keys.lanes()))

    def get(self, key: str, default: Any = None) -> Any:
        """A key's value: dict for hashes and zsets, list for lists and sets, str for strings."""
        return self._at.get(key, {} if default is None else default)

    def under(self, prefix: str) -> dict[str, Any]:
        """All keys that start so, by what follows."""
        return {key[len(prefix) :]: value for key, value in self._at.items() if key.startswith(prefix)}


def _text(value: Any) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def _int(text: str, default: int = 0) -> int:
    return int(text) if text.lstrip("-").isdigit() else default
