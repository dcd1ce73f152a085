"""Redis away, full, read-only or loading: the job waits in the outbox, with the same id."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import time_machine
from django.db import transaction
from pytest_django import Settings
from redis import Redis

from jobops.context import outbox_rows, relay
from jobops.context.models import OutboxEntry
from jobops.contracts.handles import Handle
from jobops.engine.client import Engine
from jobops.engine.errors import EngineUnavailable, UnknownTenant
from jobops.engine.link import is_away
from jobops.runtime import enqueuer, lookup
from jobops.runtime.enqueuer import pusher
from jobops.runtime.memory import memory_guard
from jobops.scheduling.duties import Context
from jobops.steward import relay as relay_duty
from tests.runtime.conftest import Outage
from tests.runtime.factory import echo, new_job, waiting
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db(transaction=True)


def relay_all(engine: Engine) -> None:
    """Run the duty as if the two seconds that rows are left alone had passed."""
    OutboxEntry.objects.filter(state="waiting").update(next_try_at="2020-01-01T00:00:00Z")
    relay_duty.Relay().run(Context(engine))


def test_an_enqueue_falls_to_the_outbox_and_arrives_when_redis_is_back(outage: Outage) -> None:
    outage.begin()
    handle = echo.using(tenant="acme").enqueue(1)
    assert (handle.state, handle.status()) == ("outbox", "outbox")
    outage.end()
    relay_all(outage.engine)
    assert waiting(outage.engine) == [handle.id]
    assert not OutboxEntry.objects.exists()


def test_a_commit_during_an_outage_loses_nothing_and_raises_nothing(outage: Outage) -> None:
    outage.begin()
    with transaction.atomic():
        ids = [echo.using(tenant="acme").enqueue(n).id for n in range(3)]
    assert OutboxEntry.objects.filter(state="waiting").count() == 3
    outage.end()
    relay_all(outage.engine)
    assert waiting(outage.engine) == ids


def test_only_the_enqueue_that_met_the_outage_is_in_doubt(outage: Outage) -> None:
    """Trap 9: a row in doubt is parked after a day; an outage of days must not park what was never sent."""
    memory_guard()._engine, memory_guard()._next_at = outage.engine, time.monotonic() + 60  # it was asked just now
    outage.begin()
    met = echo.using(tenant="acme").enqueue()
    later = [echo.using(tenant="acme").enqueue() for _ in range(3)]
    enqueuer()._away_until = 0.0  # it asks again, and asks before it sends
    later.append(echo.using(tenant="acme").enqueue())
    doubtful = OutboxEntry.objects.exclude(first_pushed_at=None).values_list("pk", flat=True)
    assert list(doubtful) == [met.id]
    assert len(later) == 4


def test_an_enqueue_that_could_not_even_ask_how_full_redis_is_leaves_no_doubt(outage: Outage) -> None:
    """Nothing was sent."""
    outage.begin()
    assert echo.using(tenant="acme").enqueue().state == "outbox"
    assert OutboxEntry.objects.get().first_pushed_at is None


def test_a_relay_without_redis_marks_nothing(outage: Outage) -> None:
    outage.begin()
    enqueuer()._in_doubt = True
    enqueuer()._away_until = time.monotonic() + 60
    echo.using(tenant="acme").enqueue()
    for _ in range(3):
        with pytest.raises(Exception) as raised:  # noqa: PT011
            relay_all(outage.engine)
        assert is_away(raised.value)
    assert OutboxEntry.objects.get().first_pushed_at is None


def test_enqueues_during_an_outage_do_not_wait_for_redis_again_and_again(
    outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    ping = Redis.ping
    monkeypatch.setattr(Redis, "ping", lambda redis: asked.append(1) or ping(redis))  # type: ignore[func-returns-value]
    outage.begin()
    echo.using(tenant="acme").enqueue()
    for _ in range(20):
        echo.using(tenant="acme").enqueue()
    assert len(asked) <= 2
    outage.end()
    enqueuer()._away_until = 0.0
    assert echo.using(tenant="acme").enqueue().state == "queued"


@pytest.fixture
def black_hole(settings: Settings, transactional_db: None) -> Iterator[socket.socket]:
    """A Redis that takes connections and never says a word, known to be away since a moment ago."""
    new_tenant("acme")
    with socket.create_server(("127.0.0.1", 0), backlog=50) as listener:
        listener.setblocking(False)
        settings.JOBOPS_REDIS_URL = f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        enqueuer()._in_doubt = True
        yield listener


def connections_to(listener: socket.socket) -> int:
    """How often somebody connected since it was asked last."""
    for count in itertools.count():
        try:
            listener.accept()[0].close()
        except BlockingIOError:
            return count
    raise AssertionError


def test_a_redis_that_swallows_everything_keeps_a_request_for_half_a_second_now_and_then(
    black_hole: socket.socket,
) -> None:
    """One enqueue asks and waits for half a second, not for the socket's 5; for two seconds after it nobody asks."""
    began = time.monotonic()
    assert echo.using(tenant="acme").enqueue().state == "outbox"
    asked = time.monotonic()
    assert asked - began < 2.5
    while time.monotonic() < asked + 1.2:
        assert echo.using(tenant="acme").enqueue().state == "outbox"
    assert connections_to(black_hole) == 1
    assert not OutboxEntry.objects.exclude(first_pushed_at=None).exists(), "nothing was sent, so nothing is in doubt"


def test_one_thread_asks_and_the_others_do_not_wait_with_it(black_hole: socket.socket) -> None:
    threads = [threading.Thread(target=enqueuer()._redis_is_there) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert connections_to(black_hole) <= 2, "two only if they look in the very same instant"


@pytest.mark.parametrize("way", ["take_in", "enqueue_many"])
def test_an_enqueue_whose_answer_was_lost_arrives_once(both: Engine, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request got through, the answer did not: the row has the same id, and its push is a no-op."""
    from redis.exceptions import TimeoutError as RedisTimeoutError

    scripts = type(both.scripts)
    real = getattr(scripts, way)

    def lose_the_answer(*args, **kwargs):  # type: ignore[no-untyped-def]
        real(*args, **kwargs)
        raise RedisTimeoutError("Timeout reading from socket")

    memory_guard().is_tight()  # as after any enqueue before: the job goes straight to Redis
    monkeypatch.setattr(scripts, way, lose_the_answer)
    call = echo.using(tenant="acme")
    (handle,) = call.enqueue_many([{}]) if way == "enqueue_many" else [call.enqueue()]
    assert isinstance(handle, Handle)
    monkeypatch.undo()
    assert handle.state == "outbox"
    assert handle.status() == "queued"  # Redis is asked first
    relay_all(both)
    assert waiting(both) == [handle.id]
    assert not OutboxEntry.objects.exists()


def test_a_redis_that_takes_no_writes_is_an_outage(outage: Outage) -> None:
    """RD-04: the enqueue is clear about it, the outbox keeps the rows, and they drain by themselves."""
    redis = outage.engine.redis
    outage.engine.scripts.load()
    redis.execute_command("REPLICAOF", "127.0.0.1", "1")
    handle = echo.using(tenant="acme").enqueue()
    assert handle.state == "outbox"
    with pytest.raises(Exception) as raised:  # noqa: PT011
        relay_all(outage.engine)
    assert is_away(raised.value)
    redis.execute_command("REPLICAOF", "NO", "ONE")
    relay_all(outage.engine)
    assert waiting(outage.engine) == [handle.id]


def test_a_redis_that_is_full_and_does_not_say_how_full_is_an_outage(
    outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RD-01 where nobody may ask for its memory: what it refuses goes to the outbox."""
    redis = outage.engine.redis
    outage.engine.scripts.load()
    monkeypatch.setattr(memory_guard(), "is_tight", lambda: False)
    redis.config_set("maxmemory", 1)
    handle = echo.using(tenant="acme").enqueue()
    assert handle.state == "outbox"
    with pytest.raises(Exception) as raised:  # noqa: PT011
        relay_all(outage.engine)
    assert is_away(raised.value)
    redis.config_set("maxmemory", 0)
    relay_all(outage.engine)
    assert waiting(outage.engine) == [handle.id]


def test_what_is_an_outage_and_what_is_not() -> None:
    from redis.exceptions import BusyLoadingError, ResponseError

    assert is_away(BusyLoadingError("Redis is loading the dataset in memory"))
    assert is_away(ResponseError("MISCONF Redis is configured to save RDB snapshots"))
    text = 'Command # 1 (EVALSHA x 0 jobops "OOM READONLY") of pipeline caused error: ERR something else'
    assert not is_away(ResponseError(text))
    assert not is_away(ValueError("OOM"))
    assert not is_away(EngineUnavailable("enqueue: OOM"))


def test_a_flushed_redis_gets_back_the_tenant_and_the_lanes_it_lost(both: Engine) -> None:
    both.redis.flushall()
    handle = echo.using(tenant="acme").enqueue()
    assert handle.state == "queued"
    assert waiting(both) == [handle.id]
    with pytest.raises(UnknownTenant):
        echo.using(tenant="nobody").enqueue()


def test_an_enqueue_outside_a_transaction_needs_no_database(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError, connection

    def refuse() -> None:
        raise OperationalError("the database is away")

    connection.close()
    monkeypatch.setattr(connection, "connect", refuse)
    handle = echo.using(tenant="acme").enqueue()
    assert (handle.state, handle.status()) == ("queued", "queued")


def test_a_second_push_after_a_day_is_never_made_by_itself(both: Engine) -> None:
    """Trap 9: Redis has forgotten the id, and the job may have run: a person decides."""
    job = new_job()
    from jobops.context import outbox

    outbox.write([job], tried=True, error="TimeoutError: Timeout reading from socket")
    with time_machine.travel(time.time() + 24 * 3600, tick=True):
        assert relay.relay(pusher()) == 1
        row = OutboxEntry.objects.get()
        assert (row.state, row.parked_as) == ("parked", "outcome_unknown")
        assert relay.relay(pusher()) == 0
    assert waiting(both) == []
    found = lookup(job.id)
    assert found is not None
    assert (found.state, found.reason) == ("outbox", "outcome_unknown")
    assert outbox_rows.unpark(job.id)
    assert not outbox_rows.unpark(job.id)
    relay_all(both)
    assert waiting(both) == [job.id]
