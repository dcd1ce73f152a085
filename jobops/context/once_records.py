"""The rows behind ``once``: who began an effect, and what came of it. Each change is a compare-and-set on the token."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections
from django.db.models import QuerySet
from django.utils import timezone

from jobops.context.models import OnceRecord
from jobops.contracts import registry
from jobops.contracts.running import RunningJob

log = logging.getLogger("jobops.context")

T = TypeVar("T")

AWAY = (OperationalError, InterfaceError)
PAUSES_S = (0.1, 0.3, 1.0, 2.0)
"""Between tries to record an effect that has happened."""

State = OnceRecord.State


def find(job: RunningJob, key: str) -> OnceRecord | None:
    """The row of this key: of the job type, or of a name that it had before."""
    job_type = registry.resolve(job.job_type)
    names = [job.job_type] if job_type is None else [job_type.name, *job_type.aliases]
    mine = _rows().filter(tenant_uid=job.tenant_uid, tenant=job.tenant, key=key, job_type__in=names)
    return mine.order_by("pk").first()


def begin(job: RunningJob, key: str, at: datetime) -> OnceRecord | None:
    """Make the row of this key. None: somebody else has made one. ``at``: now, on the clock that all runs share."""
    job_type = registry.resolve(job.job_type)
    row = OnceRecord(
        tenant=job.tenant,
        tenant_uid=job.tenant_uid,
        job_type=job.job_type if job_type is None else job_type.name,
        key=key,
        job_id=job.id,
        attempt=job.attempt,
        token=job.token,
        began_at=at,
    )
    _rows().bulk_create([row], ignore_conflicts=True)
    found = find(job, key)
    return found if found is not None and (found.token, found.began_at) == (row.token, row.began_at) else None


def take_over(row: OnceRecord, job: RunningJob, at: datetime) -> OnceRecord | None:
    """Make the row this run's, if it still is whose it was. None: somebody was faster."""
    taken = _begun(row, row.token).filter(began_at=row.began_at)
    if not taken.update(token=job.token, job_id=job.id, attempt=job.attempt, began_at=at):
        return None
    row.token, row.job_id, row.attempt, row.began_at = job.token, job.id, job.attempt, at
    return row


def finish(row: OnceRecord, result: str) -> bool:
    """Record that it happened. ``result``: its JSON, empty if it is not kept. False: somebody has taken it over."""
    if _begun(row, row.token).update(state=State.DONE, result=result, done_at=timezone.now()):
        return True
    # The answer to an earlier try may have been lost after its commit.
    return _rows().filter(pk=row.pk, token=row.token, state=State.DONE).exists()


def drop(row: OnceRecord) -> None:
    """It is known not to have happened: the next run begins anew."""
    _begun(row, row.token).delete()


def patiently(write: Callable[[], T]) -> T:
    """Do it, a few times if the database is away. Raises what the last try raises. Not in a transaction."""
    for pause_s in PAUSES_S:
        try:
            return write()
        except AWAY as error:
            log.warning("the database is away: %s; trying again in %.1f s", error, pause_s)
            connections[DEFAULT_DB_ALIAS].close()
            time.sleep(pause_s)
    return write()


def forget(keep: timedelta, limit: int) -> int:
    """Delete what was done, or begun and never ended, longer ago than ``keep``; at most ``limit`` rows of each."""
    oldest = timezone.now() - keep
    done = _rows().filter(done_at__lt=oldest).order_by("done_at", "id")
    ids = list(done.values_list("pk", flat=True)[:limit])
    # There is no index for these, and none is needed: they stand first, as whatever is as old has gone already.
    first = _rows().order_by("pk").values_list("pk", "state", "began_at")[:limit]
    ids += [pk for pk, state, began_at in first if state == State.RUNNING and began_at < oldest]
    return _rows().filter(pk__in=ids).delete()[0]


def _begun(row: OnceRecord, token: str) -> QuerySet[OnceRecord]:
    return _rows().filter(pk=row.pk, token=token, state=State.RUNNING)


def _rows() -> QuerySet[OnceRecord]:
    return OnceRecord.objects.using(DEFAULT_DB_ALIAS)
