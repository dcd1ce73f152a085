"""A call of a job type: checked where it is enqueued, so that a mistake shows at its own line and not at night."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Any, Generic, ParamSpec

from jobops.contracts.children import child_id
from jobops.contracts.config import config
from jobops.contracts.durations import LONGEST
from jobops.contracts.enqueuer import enqueuer
from jobops.contracts.handles import Handle
from jobops.contracts.job_type import JobType
from jobops.contracts.promised import promised_by
from jobops.contracts.running import running_job
from jobops.engine.errors import EnqueueRefused, InvalidJob
from jobops.engine.payload import encode
from jobops.engine.records import NewJob
from jobops.engine.validation import SLUG_PATTERN

P = ParamSpec("P")

TENANT = re.compile(SLUG_PATTERN)
LABEL_LIMIT = 200
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Call(Generic[P]):
    """A job type with everything but its arguments. Made by ``using``; may be kept and enqueued many times."""

    job_type: JobType
    tenant: str
    lane: str
    key: str = ""
    correlation_id: str = ""
    delay_ms: int = 0
    due_at_ms: int = 0
    front: bool = False
    batch: str = ""
    child_key: str = ""

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle:
        """Enqueue one run with these arguments, as the function itself takes them.

        Raises InvalidJob naming an argument that is missing, unknown or cannot be carried as JSON,
        PayloadTooLarge, and what the engine refuses (UnknownTenant, IntakeClosed, DepthExceeded).
        """
        enqueued = enqueuer().enqueue(self._new_job(args, kwargs))
        return Handle(enqueued.id, enqueued.state)

    def call(self, *args: P.args, **kwargs: P.kwargs) -> BoundCall:
        """This call with its arguments, for somebody else to enqueue: ``Batch(then=…)``. Raises as ``enqueue``."""
        return BoundCall(self, self._new_job(args, kwargs))

    def child(self, key: str) -> Call[P]:
        """The same, for the job that this code runs in: an attempt of it that comes again makes no second child.

        ``key`` tells the children of one type apart: ``resize.using(tenant="acme").child("photo:7").enqueue(photo=7)``.
        Holds for 24 hours and, beyond, as long as anything is kept of the child; its handle then has the state
        ``duplicate``. Raises InvalidJob outside of a job, and for a key that cannot be used.
        """
        if running_job() is None:
            raise InvalidJob("child", "this code runs in no job; use key=… to keep a second run out while one is live")
        return replace(self, child_key=_label("child", key))

    def enqueue_many(
        self, calls: Iterable[Mapping[str, Any]], *, child_key: Callable[[Mapping[str, Any]], str] | None = None
    ) -> list[Handle | EnqueueRefused]:
        """Enqueue one run for each mapping of arguments, in few round trips. Answers in order: a handle, or why it was
        refused.

        ``child_key``: from a mapping to what tells its run apart, as in ``child``:
        ``child_key=lambda call: f"photo:{call['photo']}"``. All arguments are checked before the first run is
        enqueued: InvalidJob names the item, counted from 0 as in a list.
        """
        if self.key or self.child_key:
            raise InvalidJob(
                "key" if self.key else "child", "one key for many runs would make one of them; enqueue them singly"
            )
        jobs = []
        for position, kwargs in enumerate(calls):
            try:
                if not isinstance(kwargs, Mapping):
                    raise InvalidJob("arguments", f"{kwargs!r} is not a mapping of arguments by name")
                each = self.child(child_key(kwargs)) if child_key is not None else self
                jobs.append(each._new_job((), kwargs))
            except InvalidJob as error:
                error.args = (f"item {position} (counted from 0): {error}",)
                raise
        if not jobs:
            return []
        answers = enqueuer().enqueue_many(jobs)
        return [answer if isinstance(answer, EnqueueRefused) else Handle(answer.id, answer.state) for answer in answers]

    def _new_job(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> NewJob:
        job_type, settings, parent = self.job_type, config(), running_job()
        promised = promised_by(job_type)
        bound_args, bound_kwargs = job_type.bind(args, kwargs)
        data = encode(
            job_type.name,
            bound_args,
            bound_kwargs,
            limit=settings.payload_limit,
            arg_names=job_type.argument_names(len(bound_args)) if bound_args else (),
        )
        job_id = child_id(job_type.name, self.child_key) if self.child_key else token_hex(16)
        return NewJob(
            id=job_id,
            tenant=self.tenant,
            lane=self.lane,
            job_type=job_type.name,
            data=data,
            max_attempts=job_type.max_attempts,
            timeout_ms=promised.timeout_ms,
            lease_ms=promised.lease_ms or settings.lease_ms,
            key=self.key,
            correlation_id=self.correlation_id or (parent.correlation_id if parent is not None else "") or job_id,
            delay_ms=self.delay_ms,
            due_at_ms=self.due_at_ms,
            front=self.front,
            tenant_uid=tenant_uid_of(self.tenant) if parent is not None else "",
            result_ttl_s=promised.result_ttl_s,
            resource=job_type.resource,
            dedup_ms=promised.dedup_ms,
            on_full=job_type.on_full,
            keep=job_type.keep_results or 0,
            batch=self.batch,
        )


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A call with its arguments, checked, and not enqueued."""

    how: Call[Any]
    job: NewJob


def make_call(
    job_type: JobType,
    *,
    tenant: object,
    key: object = None,
    lane: object = None,
    run_after: object = None,
    correlation_id: object = None,
    priority: object = None,
) -> Call[...]:
    """A call with these options. Raises InvalidJob naming the option that cannot be used, and what would be right."""
    check_tenant(tenant)
    if priority not in (None, "front"):
        raise InvalidJob("priority", f'{priority!r} is not known; say "front", or leave it out')
    delay_ms, due_at_ms = _when(run_after)
    return Call(
        job_type=job_type,
        tenant=str(tenant),
        lane=_lane(job_type, lane),
        key=_label("key", key),
        correlation_id=_label("correlation_id", correlation_id),
        delay_ms=delay_ms,
        due_at_ms=due_at_ms,
        front=priority == "front",
    )


def check_tenant(tenant: object) -> None:
    """Raises InvalidJob for what cannot be a tenant's slug."""
    if not (isinstance(tenant, str) and TENANT.fullmatch(tenant)):
        raise InvalidJob("tenant", f"{tenant!r} is no tenant's slug; a slug is 1 to 50 of a-z, 0-9 and '-'")


def _lane(job_type: JobType, given: object) -> str:
    lanes = config().lanes
    lane = given if given is not None else job_type.lane or lanes[0]
    if not isinstance(lane, str) or lane not in lanes:
        whose = "" if given is not None else f" (from the contract of {job_type.name})"
        raise InvalidJob("lane", f"{lane!r}{whose} is not configured; the lanes are {', '.join(lanes)}")
    return lane


def _when(run_after: object) -> tuple[int, int]:
    if run_after is None:
        return 0, 0
    if isinstance(run_after, timedelta):
        if timedelta(0) <= run_after <= LONGEST:
            return run_after // _MS, 0
        raise InvalidJob(
            "run_after", f"{run_after!r} is out of bounds; it is zero or more, at most {LONGEST.days} days"
        )
    if isinstance(run_after, datetime):
        if run_after.utcoffset() is None:
            raise InvalidJob("run_after", f"{run_after!r} has no time zone; give an aware datetime or a timedelta")
        if not 1970 < run_after.year < 9000:
            raise InvalidJob("run_after", f"{run_after!r} is out of bounds; give a year from 1971 to 8999")
        return 0, int(run_after.timestamp() * 1000)
    raise InvalidJob("run_after", f"{run_after!r} is no time; give a timedelta or an aware datetime")


def _label(field: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str) and 0 < len(value) <= LABEL_LIMIT and value.isprintable():
        return value
    raise InvalidJob(field, f"{value!r} cannot be used; give 1 to {LABEL_LIMIT} printable characters")


def tenant_uid_of(tenant: str) -> str:
    """Whose job it is, for one that a job of the same tenant enqueues: it may outlive its tenant."""
    job = running_job()
    return job.tenant_uid if job is not None and job.tenant == tenant else ""
