"""What flows between Redis and the database: deaths into the letters, and the outbox into the queues."""

from __future__ import annotations

from collections.abc import Iterator

from jobops.alerts.signals.base import Reading, Signal
from jobops.alerts.sources import Sources
from jobops.contracts.catalog.words import plural, span


def intake(sources: Sources) -> Iterator[Reading]:
    """The oldest death, or end of a replay, that Redis still holds."""
    lag = sources.intake_lag_s
    title = f"Deaths have waited for {span(lag)} to be taken into the database: nobody sees them yet"
    yield Reading("all", lag, title, path="/dlq/")


def outbox(sources: Sources) -> Iterator[Reading]:
    """The row that should have been pushed first, and was not."""
    lag, tenant = sources.outbox_lag
    whose = f", of {tenant} first" if tenant else ""
    title = f"Jobs have waited for {span(lag)} in the outbox{whose}: the relay does not push them"
    yield Reading("all", lag, title, path="/")


def parked(sources: Sources) -> Iterator[Reading]:
    """Rows of the outbox that a person must decide."""
    count = sources.outbox_parked
    title = f"{plural(count, 'job is', 'jobs are')} parked in the outbox: nobody pushes them until a person decides"
    detail = "`manage.py jobs list --state outbox` shows them; `jobs unpark` or `jobs cancel` decides"
    yield Reading("all", count, title, detail=detail, path="/")


SIGNALS = (
    Signal(
        name="intake_lag",
        title="Deaths are not taken in",
        unit="seconds",
        threshold=60,
        clears_at=10,
        for_s=0,
        calm_s=60,
        severity="high",
        about="How long the oldest death, or end of a replay, has waited in Redis for the database.",
        read=intake,
    ),
    Signal(
        name="outbox_lag",
        title="The outbox is not emptied",
        unit="seconds",
        threshold=60,
        clears_at=10,
        for_s=0,
        calm_s=60,
        severity="high",
        about="How long a job that is due has waited in the outbox; those of a tenant that is full wait rightly.",
        read=outbox,
    ),
    Signal(
        name="outbox_parked",
        title="Parked jobs",
        unit="jobs",
        threshold=0,
        clears_at=0,
        for_s=0,
        calm_s=60,
        severity="normal",
        about="Jobs in the outbox that Redis refused again and again, or of which nobody knows whether they arrived.",
        read=parked,
    ),
)
