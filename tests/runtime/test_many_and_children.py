"""Enqueueing many at once, and a job that enqueues children: in few round trips, and no child twice."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from django.db import transaction

from jobops.context.models import OutboxEntry
from jobops.contracts.running import RunningJob, running
from jobops.engine.client import Engine
from jobops.engine.errors import DepthExceeded
from jobops.runtime.enqueuer import BATCH
from tests.runtime.factory import echo, run_all, tenant, waiting

pytestmark = pytest.mark.django_db(transaction=True)


def parent(attempt: int = 1) -> RunningJob:
    return RunningJob("f" * 32, "acme", "bulk", "t.parent", attempt, 3, "chain-1")


def fan_out(fail_at: int | None = None, *, at_once: bool = False) -> None:
    """What the code of a job does: a child for each of ten items."""
    if at_once:
        echo.using(tenant="acme").enqueue_many(
            ({"value": item} for item in range(fail_at or 10)), child_key=lambda call: f"item:{call['value']}"
        )
        if fail_at is not None:
            raise KeyError(fail_at)
        return
    for item in range(10):
        if item == fail_at:
            raise KeyError(item)
        echo.using(tenant="acme").child(f"item:{item}").enqueue(item)


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("ended", [False, True])
def test_a_fan_out_that_fails_halfway_and_is_retried_has_each_child_once(
    both: Engine, at_once: bool, ended: bool
) -> None:
    """OB-09: fan out 10, fail at 6, retry: 10 children, also when the first ones have ended meanwhile."""
    with running(parent()), pytest.raises(KeyError):
        fan_out(6, at_once=at_once)
    first = run_all(both) if ended else waiting(both)
    assert len(first) == 6
    with running(parent(attempt=2)):
        fan_out(at_once=at_once)
    assert len(waiting(both)) == (4 if ended else 10)
    assert len({*first, *waiting(both)}) == 10


def test_the_same_through_the_outbox(both: Engine) -> None:
    """OB-09: in a transaction that is rolled back, and in one that is committed twice."""
    with running(parent()), pytest.raises(KeyError), transaction.atomic():
        fan_out(6)
    assert (waiting(both), OutboxEntry.objects.count()) == ([], 0)
    for attempt in (2, 3):
        with running(parent(attempt)), transaction.atomic():
            fan_out()
    assert len(set(waiting(both))) == len(waiting(both)) == 10
    assert OutboxEntry.objects.count() == 0


def test_children_share_the_chain_of_their_parent(both: Engine) -> None:
    with running(parent()):
        handle = echo.using(tenant="acme").child("1").enqueue(1)
        assert echo.using(tenant="acme").child("1").enqueue(1).state == "duplicate"
    assert both.redis.hget(f"rq:job:{handle.id}", "jo_correlation") == b"chain-1"


def test_ten_thousand_are_enqueued_in_a_bounded_number_of_round_trips(both: Engine) -> None:
    trips: list[int] = []
    original = both.scripts._pipeline

    def counted(name: str, calls: Any) -> Any:
        trips.append(len(calls))
        return original(name, calls)

    with patch.object(type(both.scripts), "_pipeline", lambda self, name, calls: counted(name, calls)):
        handles = echo.using(tenant="acme").enqueue_many({"value": number} for number in range(10_000))
    sent = [count for count in trips if count]
    assert (len(sent), max(sent), sum(sent)) == (10_000 // BATCH, BATCH, 10_000)
    assert [handle.id for handle in handles] == waiting(both)  # type: ignore[union-attr]


def test_refusals_stand_in_their_places(both: Engine) -> None:
    tenant("small", depth_limit=7)
    answers = echo.using(tenant="small").enqueue_many({"value": number} for number in range(10))
    assert [isinstance(answer, DepthExceeded) for answer in answers] == [False] * 7 + [True] * 3
    assert len(waiting(both, "small.interactive")) == 7
