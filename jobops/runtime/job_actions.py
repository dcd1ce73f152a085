"""What people do to single jobs, each with its row in the audit. Callers have asked ``access.can`` before."""

from __future__ import annotations

import logging
from typing import Literal, TypeAlias

from django.db import Error as DatabaseError
from django.db import transaction
from redis.exceptions import RedisError

from jobops.audit import recording
from jobops.context import outbox_rows
from jobops.engine.control_commands import Stopping
from jobops.engine.records import Cancelled, JobView
from jobops.runtime.cancelling import cancel, cancel_key
from jobops.runtime.engine import get_engine
from jobops.runtime.lookup import lookup
from jobops.runtime.running_now import RanNow, run_now
from tenants.access import AnyUser
from tenants.models import Tenant
from tenants.policy import belongs

log = logging.getLogger(__name__)

ENDED = frozenset({"succeeded", "discarded", "dead", "cancelled", "coalesced"})
NotLive: TypeAlias = Literal["outbox", "ended"]
"""Where a job is that is not in Redis, or is there no more: it waits in the outbox, or it has ended."""
Stopped: TypeAlias = Stopping | NotLive
RunNow: TypeAlias = RanNow | Literal["ended"]


def job_cancel(*, job_id: str, by: AnyUser | str, tenant: str | None = None, reason: str = "") -> Cancelled:
    """End a waiting or delayed job before it runs (again). With ``tenant``, another tenant's job is ``not_found``.

    Raises ``redis.RedisError``.
    """
    # Cancelled first, written down second: in one transaction the outbox, which the cancelling may wait for, could not
    # move on.
    before = lookup(job_id)
    answer = cancel(job_id, tenant=tenant)
    if answer == "cancelled":
        _record("job.cancel", job_id, by, before, "cancelled", reason)
    return "ended" if answer == "not_found" and _elsewhere(before, tenant) == "ended" else answer


def job_cancel_by_key(*, tenant: str, job_type: str, key: str, by: AnyUser | str) -> tuple[Cancelled, str]:
    """The same for the tenant's job of this type and key; answers its id too. Raises ``redis.RedisError``."""
    answer, job_id = cancel_key(tenant, job_type, key)
    if answer == "cancelled":
        _record("job.cancel", job_id, by, lookup(job_id), "cancelled", known_before=False)
    return answer, job_id


def job_stop(
    *, job_id: str, by: AnyUser | str, tenant: str | None = None, retry: bool = False, reason: str = ""
) -> Stopped:
    """End a running job: its process is killed, and all that it started; ``retry``: it runs again, as its next attempt.

    It takes about a second, and a job that succeeds before has succeeded. Nothing is done to one that could not run
    again (``last_attempt``, ``tenant_gone``) or does not run: ``outbox`` and ``ended`` say where it is. With
    ``tenant``, another tenant's job is ``not_found``. Raises ``redis.RedisError``.
    """
    before = lookup(job_id)
    note = f"stopped by {_name_of(by)}" + (f": {reason.strip()}" if reason.strip() else "")
    said = get_engine().scripts.stop(job_id, tenant, retry=retry, note=note)
    if said == "stopping":
        _record("job.stop", job_id, by, before, "stopping to run again" if retry else "stopping", reason)
    elif said in ("not_found", "not_running"):
        return _elsewhere(before, tenant) or said
    return said


def job_run_now(*, job_id: str, by: AnyUser | str, tenant: str | None = None, reason: str = "") -> RunNow:
    """Send a delayed job, or one that backs off, to its queue before its time; caps, limits and pauses still hold.

    ``outbox``: it is not in Redis yet, and starts as soon as it is. With ``tenant``, another tenant's job is
    ``not_found``. Raises ``redis.RedisError``.
    """
    before = lookup(job_id)
    said = run_now(job_id, tenant=tenant)
    if said in ("queued", "outbox"):
        _record("job.run_now", job_id, by, before, said, reason)
    elif _elsewhere(before, tenant) == "ended":
        return "ended"
    return said


def job_unpark(*, job_id: str, by: AnyUser | str) -> bool:
    """Push a parked outbox row again, from scratch; False when it is not parked."""
    with transaction.atomic():
        if not outbox_rows.unpark(job_id):
            return False
        _record("job.unpark", job_id, by, lookup(job_id), "outbox", known_before=False)
    return True


def record_enqueue(*, job_id: str, by: AnyUser | str) -> None:
    """Write down that a person enqueued this job by hand. The job is there whether or not this can be written."""
    try:
        _record("job.enqueue", job_id, by, lookup(job_id), "enqueued", known_before=False)
    except (DatabaseError, RedisError) as error:
        log.warning("job %s was enqueued, which the audit does not hold: %s", job_id, type(error).__name__)


def _elsewhere(job: JobView | None, tenant: str | None) -> NotLive | None:
    """What is known of a job that Redis has nothing (live) of; None: nothing, or it is another tenant's."""
    if job is None or (tenant is not None and job.tenant != tenant):
        return None
    if job.state == "outbox":
        return "outbox"
    return "ended" if job.state in ENDED else None


def _name_of(by: AnyUser | str) -> str:
    return by if isinstance(by, str) else by.get_username()


def _record(
    action: str,
    job_id: str,
    by: AnyUser | str,
    job: JobView | None,
    state: str,
    reason: str = "",
    *,
    known_before: bool = True,
) -> None:
    slug = job.tenant if job else ""
    tenant = Tenant.objects.filter(slug=slug).first() if slug else None
    if tenant is not None and job is not None and not belongs(job.tenant_uid, tenant):
        tenant = None  # a former owner's of the slug
    before = {"state": job.state} if job and known_before else {}
    after = {"state": state, "job_type": job.job_type} if job else {"state": state}
    change = recording.Change(action, "job", job_id, tenant.pk if tenant else None, slug, before, after, reason)
    recording.record(by, change)
