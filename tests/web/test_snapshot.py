"""One reading of the system for all who look."""

from __future__ import annotations

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from jobops.web.selectors import reach, snapshot
from tests.web.world import World


def test_a_reading_is_shared_for_a_second_and_forgotten_on_demand(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "KEEP_S", 60.0)
    first = snapshot.snapshot()
    world.tenant("young")
    assert snapshot.snapshot() is first
    snapshot.forget()
    assert set(snapshot.snapshot().rows) == {"young"}


def test_while_redis_hangs_only_one_request_waits_for_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """UP-02: a page that many look at must not hold one thread of the server after the other."""
    asked = []

    def hang() -> None:
        asked.append(1)
        raise RedisConnectionError("timed out")

    monkeypatch.setattr(reach, "AWAY_S", 60.0)
    monkeypatch.setattr(snapshot, "get_engine", hang)
    for _ in range(5):
        with pytest.raises(RedisError):
            snapshot.snapshot()
    assert len(asked) == 1
    snapshot.forget()
    with pytest.raises(RedisError):
        snapshot.snapshot()
    assert len(asked) == 2
