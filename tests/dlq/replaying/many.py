"""Replays of many letters whose jobs really run, without a worker's process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dlq.bulk import bulk_confirm, bulk_draft
from dlq.bulk_run import run_batch
from dlq.models import BulkAction, DeadLetter, ReplayPlan, ReplayRun
from dlq.replay_plan import PlanOptions
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from tests.dlq.replays import FAILED, run_replays
from tests.runtime import factory  # registers tests.echo

assert factory.echo

FAST = PlanOptions(rate=None)
"""As the defaults, without a limit."""


def confirmed(**options: Any) -> BulkAction:
    """A replay of every open letter, which runs."""
    bulk = bulk_draft(kind="replay", letters=DeadLetter.objects.filter(state="open"), by="command:ada", chosen="")
    return bulk_confirm(bulk_id=bulk.pk, by="command:ada", plan=replace(FAST, **options))


def work(bulk: BulkAction) -> BulkAction:
    """Do of it what can be done now."""
    while run_batch(bulk.pk):
        pass
    bulk.refresh_from_db()
    return bulk


def plan_of(bulk: BulkAction) -> ReplayPlan:
    return ReplayPlan.objects.get(bulk=bulk)


def sent(bulk: BulkAction) -> list[int]:
    """The letters that it sent to run, in that order."""
    return list(ReplayRun.objects.filter(bulk=bulk).order_by("pk").values_list("letter_id", flat=True))


def succeed(engine: Engine) -> list[str]:
    return run_replays(engine)


def fail(engine: Engine) -> list[str]:
    return run_replays(engine, FAILED)


def end(engine: Engine, count: int, outcome: Outcome | None = None) -> None:
    """So many of what waits run and end; the others stay where they are."""
    from dlq.intake import take_in
    from dlq.outcomes import take_outcomes

    for _ in range(count):
        job = factory.claim(engine)
        assert job is not None
        factory.settle(engine, job, outcome or Outcome.succeeded())
    take_in(engine)
    take_outcomes(engine)
