"""RD-01: a Redis that is nearly full gets no new jobs, and what is in it goes on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator

import pytest
from django.db import OperationalError, transaction
from pytest_django import Settings
from redis import Redis
from redis.exceptions import NoPermissionError

from jobops.context import outbox
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine
from jobops.engine.errors import OutboxUnavailable
from jobops.runtime import enqueuer
from jobops.runtime.memory import SAMPLE_S, memory_guard
from jobops.scheduling.duties import Context
from jobops.steward.relay import Relay
from tests.runtime.factory import echo, new_job, waiting

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def fill_to(both: Engine) -> Iterator[Callable[[float], None]]:
    """Makes so much of its memory be in use, as far as Redis tells, and lets the guard look again."""
    both.redis.setrange("ballast", 16 * 1024 * 1024, b"x")  # beside it what a command takes is nothing

    def fill(share: float) -> None:
        used = int(both.redis.info("memory")["used_memory"])
        both.redis.config_set("maxmemory", int(used / share) if share else 0)
        memory_guard()._next_at = 0.0

    yield fill
    both.redis.config_set("maxmemory", 0)
    both.redis.delete("ballast")
    memory_guard().__init__()  # type: ignore[misc]


def relay_run(engine: Engine) -> int:
    OutboxEntry.objects.filter(state="waiting").update(next_try_at="2020-01-01T00:00:00Z")
    return Relay().run(Context(engine))


def test_above_the_share_enqueues_go_to_the_outbox_and_come_in_order_by_themselves(
    both: Engine, fill_to: Callable[[float], None]
) -> None:
    fill_to(0.9)
    handles = [echo.using(tenant="acme").enqueue(n) for n in range(3)]
    assert [(handle.state, handle.status()) for handle in handles] == [("outbox", "outbox")] * 3
    (many,) = enqueuer().enqueue_many([new_job()])
    with transaction.atomic():
        within = echo.using(tenant="acme").enqueue()
    assert waiting(both) == [], "not even on commit"
    assert relay_run(both) == 0
    assert not OutboxEntry.objects.exclude(first_pushed_at=None).exists(), "nothing is in doubt"
    fill_to(0.5)
    assert relay_run(both) == 5
    assert waiting(both) == [*(handle.id for handle in handles), getattr(many, "id", ""), within.id]
    assert echo.using(tenant="acme").enqueue().state == "queued"


def test_it_goes_off_only_when_there_is_clearly_room(
    both: Engine, fill_to: Callable[[float], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "jobops.runtime")
    tight = []
    for share in (0.83, 0.9, 0.83, 0.9, 0.83, 0.7, 0.83):
        fill_to(share)
        tight.append(memory_guard().is_tight())
    assert tight == [False, True, True, True, True, False, False]
    assert [(record.levelname, record.message[:24]) for record in caplog.records] == [
        ("WARNING", "enqueues go to the outbo"),
        ("INFO", "all jobs flow again: Red"),
    ]
    assert "Redis is at 90 % of its memory" in caplog.records[0].message


@pytest.mark.parametrize(("share", "most"), [(0.0, 0.85), (1.2, 1.0), (0.5, 0.85)])
def test_without_a_limit_of_redis_or_of_ours_it_is_never_on(
    both: Engine, fill_to: Callable[[float], None], settings: Settings, share: float, most: float
) -> None:
    settings.JOBOPS_REDIS_MEMORY_SHARE = most
    fill_to(share)
    assert not memory_guard().is_tight()


def test_the_share_is_a_setting(both: Engine, fill_to: Callable[[float], None], settings: Settings) -> None:
    settings.JOBOPS_REDIS_MEMORY_SHARE = 0.3
    fill_to(0.4)
    assert memory_guard().is_tight()


def test_buffers_that_redis_does_not_count_are_not_counted(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"used_memory": 95, "mem_not_counted_for_evict": 20, "maxmemory": 100}
    monkeypatch.setattr(Redis, "info", lambda redis, section: told)
    assert not memory_guard().is_tight()
    assert memory_guard().reading.share == 0.75


def test_redis_is_asked_once_a_second_and_not_at_each_enqueue(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = Redis.info
    monkeypatch.setattr(Redis, "info", lambda redis, *section: asked.append(section) or real(redis, *section))  # type: ignore[func-returns-value]
    for _ in range(50):
        echo.using(tenant="acme").enqueue()
    assert asked in ([("memory",)], [("memory",)] * 2), "two only if a second passed"
    memory_guard()._next_at = 0.0
    echo.using(tenant="acme").enqueue()
    assert len(asked) <= 3


def test_a_redis_that_does_not_tell_is_not_asked_again_for_a_while(
    both: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuse(redis: Redis, section: str) -> None:
        asked.append(section)
        raise NoPermissionError("this user has no permissions to run the 'info' command")

    monkeypatch.setattr(Redis, "info", refuse)
    for _ in range(3):
        assert echo.using(tenant="acme").enqueue().state == "queued"
    assert len(asked) == 1
    assert memory_guard()._next_at > time.monotonic() + 10 * SAMPLE_S


def test_without_a_database_the_refusal_is_clear(
    both: Engine, fill_to: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: object, **kwargs: object) -> None:
        raise OperationalError("the database is away")

    fill_to(0.9)
    monkeypatch.setattr(outbox, "write", away)
    with pytest.raises(OutboxUnavailable) as raised:
        echo.using(tenant="acme").enqueue()
    assert str(raised.value) == (
        "outbox: Redis is at 90 % of its memory, and the database cannot keep the job meanwhile; "
        "nothing of it was kept, try again later"
    )
    assert isinstance(raised.value.__cause__, OperationalError)
    answers = enqueuer().enqueue_many([new_job(), new_job()])
    assert [type(answer) for answer in answers] == [OutboxUnavailable] * 2
