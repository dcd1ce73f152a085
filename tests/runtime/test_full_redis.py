"""RD-01 in full, with a real Redis that is filled to its last byte."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from redis.exceptions import RedisError

from dlq.models import DeadLetter
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine
from jobops.engine.link import is_away
from jobops.engine.records import Outcome
from jobops.runtime.memory import memory_guard
from jobops.scheduling.duties import Context
from jobops.steward import intake
from jobops.steward.relay import Relay
from jobops.web.selectors import snapshot
from tests.runtime.conftest import Outage
from tests.runtime.factory import claim, echo, new_job, settle, waiting
from tests.tools import wait_for

pytestmark = pytest.mark.django_db(transaction=True)
MB = 1024 * 1024


def fill(engine: Engine) -> None:
    """Other people's data, until Redis takes no more."""
    redis = engine.redis
    redis.config_set("maxmemory", int(redis.info("memory")["used_memory"]) + 8 * MB)
    for size in (64 * 1024, 4 * 1024, 256):
        for n in range(100_000):
            try:
                redis.set(f"filler:{size}:{n}", b"x" * size)
            except RedisError as error:
                if not is_away(error):
                    raise
                break


def free(engine: Engine, share: float) -> None:
    """Deletes other people's data until so much of the limit is in use at most."""
    for key in engine.redis.scan_iter("filler:*", count=1000):
        told = engine.redis.info("memory")
        if told["used_memory"] < share * told["maxmemory"]:
            return
        engine.redis.delete(key)


def test_a_full_redis_runs_dead_letters_and_drains_without_a_restart(outage: Outage, client: Client) -> None:
    engine = outage.engine
    engine.scripts.load()
    runs, dies, starts = new_job(), new_job(max_attempts=1), new_job(max_attempts=2)
    engine.scripts.enqueue_many([runs, dies, starts])
    running, dying = claim(engine), claim(engine)
    assert running is not None
    assert dying is not None
    fill(engine)

    handles = [echo.using(tenant="acme").enqueue(n) for n in range(5)]
    assert {handle.state for handle in handles} == {"outbox"}
    assert OutboxEntry.objects.filter(state="waiting").count() == 5

    snapshot.forget()
    client.force_login(User.objects.create_superuser("root"))
    text = client.get("/").content.decode()
    assert "Enqueues go to the outbox: Redis is at " in text
    assert "5 jobs wait there" in text.replace("\xa0", " ")

    assert settle(engine, running, Outcome.succeeded()) == "succeeded"
    assert settle(engine, dying, Outcome.failed("error", "Boom", "boom")) == "dead"
    third = claim(engine)
    assert third is not None
    assert third.id == starts.id
    assert settle(engine, third, Outcome.failed("error", "Boom", "boom", delay_ms=1)) == "retry"
    wait_for(lambda: engine.scripts.promote().moved, what="the retry")
    again = claim(engine)
    assert again is not None
    assert settle(engine, again, Outcome.failed("error", "Boom", "boom")) == "dead"
    wait_for(lambda: intake.run(Context(engine)) or DeadLetter.objects.count() == 2, what="two letters")
    assert set(DeadLetter.objects.values_list("job_id", flat=True)) == {dies.id, starts.id}

    def relay() -> bool:
        OutboxEntry.objects.filter(state="waiting").update(next_try_at="2020-01-01T00:00:00Z")
        Relay().run(Context(engine))
        return not OutboxEntry.objects.exists()

    assert not relay()
    free(engine, 0.75)
    wait_for(relay, what="the drained outbox")
    assert waiting(engine) == [handle.id for handle in handles]
    assert not memory_guard().is_tight()
    assert echo.using(tenant="acme").enqueue().state == "queued"
    snapshot.forget()
    assert "Enqueues go to the outbox" not in client.get("/").content.decode()
