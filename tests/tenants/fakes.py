"""A pusher that remembers, and one whose Redis is away."""

from __future__ import annotations

from dataclasses import dataclass, field

from redis.exceptions import ConnectionError as RedisConnectionError

from jobops.engine.records import Policy


@dataclass
class Recorder:
    """Takes every policy; ``away`` makes it fail as an unreachable Redis does, before it took anything."""

    pushed: list[Policy] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    away: bool = False

    def set_policy(self, policy: Policy, /) -> bool:
        self._reach()
        self.pushed.append(policy)
        return True

    def drop_policy(self, slug: str, /) -> bool:
        self._reach()
        self.dropped.append(slug)
        return True

    def _reach(self) -> None:
        if self.away:
            raise RedisConnectionError("connection refused")
