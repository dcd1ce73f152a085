"""Batches for the runtime's tests: filled with jobs that tests end as they like."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from jobops import Batch, BatchStatus
from jobops.batches.models import Batch as Row
from jobops.contracts.calls import BoundCall
from jobops.contracts.decorator import job
from jobops.engine.client import Engine
from jobops.engine.records import ClaimedJob, Outcome
from jobops.scheduling.duties import Context
from jobops.steward import batches, intake, outcomes
from tests.runtime.factory import claim, echo, run_all, settle

POISON = Outcome.failed("poison", "ValueError", "no such row")


@job(name="tests.after", owner="tests", drain_sla="1h", idempotent="does nothing", lane="bulk", timeout="5s")
def after(user_id: int) -> int:
    return user_id


def filled(count: int = 3, *, tenant: str = "acme", then: bool = True, **fields: str) -> Batch:
    """A batch with so many members."""
    call = after.using(tenant=tenant).call(user_id=7) if then else None
    batch = Batch(tenant=tenant, then=call, **fields)
    with batch:
        batch.add_many(echo, ({"value": number} for number in range(count)))
    return batch


def row(batch: Batch) -> Row:
    return Row.objects.get(pk=batch.id)


def count(engine: Engine) -> None:
    """Whatever has ended is taken in, and the batches are counted."""
    context = Context(engine)
    intake.run(context)
    outcomes.run(context)
    batches.BatchCounting().run(context)


def look(engine: Engine, *, minutes: float = 2) -> None:
    """Time passes without a change, and quiet batches are looked through."""
    Row.objects.update(counted_at=timezone.now() - timedelta(minutes=minutes))
    batches.BatchWatch().run(Context(engine))
    batches.BatchCounting().run(Context(engine))


def end(engine: Engine, *outcomes_: Outcome | None) -> list[ClaimedJob]:
    """Claim and settle one job for each of these; None: it succeeds."""
    ended = []
    for outcome in outcomes_:
        claimed = claim(engine)
        assert claimed is not None
        settle(engine, claimed, outcome or Outcome.succeeded())
        ended.append(claimed)
    return ended


def after_jobs(engine: Engine) -> list[str]:
    """Ids of the jobs of the type that runs after a batch, as they wait."""
    waiting = [member.decode() for member in engine.redis.lrange("rq:queue:acme.bulk", 0, -1)]
    types = [engine.redis.hget(f"rq:job:{job_id}", "jo_type") for job_id in waiting]
    return [job_id for job_id, name in zip(waiting, types, strict=True) if name == b"tests.after"]


class Changed(Exception):
    """What a block of the caller ends with, after it has added members."""


def then() -> BoundCall:
    return after.using(tenant="acme").call(user_id=7)


@contextmanager
def rolled_back() -> Iterator[None]:
    """A savepoint, or a transaction, that is rolled back at its end."""
    with contextlib.suppress(Changed), transaction.atomic():
        yield
        raise Changed


def add_and_roll_back(batch: Batch) -> None:
    with rolled_back():
        batch.add_many(echo, [{"value": 7}, {"value": 8}])
        batch.add(echo, 9)


def ends_well(engine: Engine, batch: Batch, total: int) -> None:
    """It has so many members, and when these have succeeded the job after it runs."""
    assert row(batch).total == total
    run_all(engine)
    count(engine)
    look(engine)
    assert batch.status() == BatchStatus("succeeded", total, succeeded=total, then_job_id=f"{batch.id}-then")
    assert after_jobs(engine) == [f"{batch.id}-then"]
