"""How a job gets from the code that asks for it to Redis, whatever state the two stores are in.

Inside a transaction: a row of the outbox, pushed on commit. Outside: straight to Redis, and into the outbox, with
the same id, when Redis is away or nearly full, or (``on_full="spill"``) when the tenant is.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from itertools import compress

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import transaction

from jobops.context import outbox, relay
from jobops.engine.client import connect
from jobops.engine.errors import EnqueueRefused, IntakeClosed, InvalidJob, OutboxUnavailable, UnknownTenant
from jobops.engine.link import is_away
from jobops.engine.records import Enqueued, NewJob
from jobops.engine.validation import check_job
from jobops.runtime.memory import memory_guard
from jobops.runtime.redis_pusher import RedisPusher
from jobops.runtime.spilling import Spillway, is_spilled
from tenants.models import Tenant
from tenants.policy import belongs

log = logging.getLogger("jobops.runtime")

PAUSE_AFTER_OUTAGE_S = 1.0
"""How long enqueues go to the outbox unasked after Redis failed: a web request must not wait for it again each time."""

PROBE_S = 0.5
"""How long the one that asks again waits for an answer: a Redis that swallows everything refuses nothing."""

PAUSE_PER_PROBE = 4
"""The pause is this much longer than the probe that failed, if that is more: little of the time goes into waiting."""

BATCH = 500

Answer = Enqueued | EnqueueRefused
BEHIND = "older jobs of the tenant wait there for room in its queue"


class RuntimeEnqueuer:
    """The ``Enqueuer`` of the contracts and the ``Pusher`` of the outbox."""

    def __init__(self) -> None:
        self._away_until = 0.0
        self._in_doubt = False
        self._spillway = Spillway()

    def enqueue(self, job: NewJob) -> Enqueued:
        """Take in one job. Raises ``EnqueueRefused`` (unknown tenant, closed intake, depth limit, …)."""
        answer = self._at_once(job) or self.enqueue_many([job])[0]
        if isinstance(answer, EnqueueRefused):
            raise answer
        return answer

    def enqueue_many(self, jobs: Sequence[NewJob], /) -> list[Answer]:
        """Take in many; one answer for each, in order. A refusal of one does not touch the others."""
        faults = [_fault(job) for job in jobs]
        good = [job for job, fault in zip(jobs, faults, strict=True) if fault is None]
        answers: list[Answer] = []
        if outbox.in_transaction():
            answers = self._into_outbox(good, on_commit=True)
        else:
            for start in range(0, len(good), BATCH):
                answers += self._straight(good[start : start + BATCH])
        taken = iter(answers)
        return [fault if fault is not None else next(taken) for fault in faults]

    def _at_once(self, job: NewJob) -> Answer | None:
        """The answer, if nothing is in its way to Redis, as of nearly all; None: nothing was done."""
        if self._in_doubt or job.on_full == "spill" or outbox.in_transaction() or not memory_guard().is_easy():
            return None
        fault = _fault(job)
        if fault is not None:
            return fault
        try:
            return RedisPusher().enqueue_checked(job)
        except Exception as error:
            if not is_away(error):
                raise
            return self._in_doubt_outside([job], error)[0]

    def push(self, ids: Sequence[str]) -> int:
        """Push outbox rows that were committed a moment ago; answers how many arrived. Raises ``RedisError``."""
        if not self._redis_is_there():
            return 0
        try:
            return 0 if memory_guard().is_tight() else relay.push_now(RedisPusher(), ids)
        except Exception as error:
            if is_away(error):
                self._went_away(error)
            raise

    def _straight(self, jobs: Sequence[NewJob]) -> list[Answer]:
        if not self._redis_is_there():
            return self._into_outbox(jobs)
        try:
            tight = memory_guard().is_tight()
        except Exception as error:
            if not is_away(error):
                raise
            self._went_away(error)
            return self._into_outbox(jobs)  # nothing was sent, so nothing is in doubt
        if tight:
            return self._keep_outside(jobs, memory_guard().why())
        behind = self._spillway.must_wait(jobs)
        kept = iter(self._keep_outside(list(compress(jobs, behind)), BEHIND))
        sent = iter(self._send([job for job, waits in zip(jobs, behind, strict=True) if not waits]))
        return [next(kept if waits else sent) for waits in behind]

    def _send(self, jobs: Sequence[NewJob]) -> list[Answer]:
        if not jobs:
            return []
        try:
            answers = RedisPusher().enqueue_many(jobs, checked=True)
        except Exception as error:
            if not is_away(error):
                raise
            return self._in_doubt_outside(jobs, error)
        return self._spill(jobs, answers)

    def _in_doubt_outside(self, jobs: Sequence[NewJob], error: Exception) -> list[Answer]:
        """Into the outbox, as Redis was asked and is away: the request may have arrived, only the answer was lost."""
        self._went_away(error)
        return self._into_outbox(jobs, tried=True, error=f"{type(error).__name__}: {error}")

    def _spill(self, jobs: Sequence[NewJob], answers: list[Answer]) -> list[Answer]:
        """The answers, with those jobs in the outbox that rather wait for room than be refused."""
        spilled = {place: answer for place, answer in enumerate(answers) if is_spilled(answer, jobs[place])}
        if not spilled:
            return answers
        refused = [(jobs[place], refusal) for place, refusal in spilled.items()]
        try:
            with transaction.atomic():  # without its hold a row would be pushed again and again
                written = self._into_outbox([job for job, _ in refused])
                self._spillway.begin(refused)
        except DatabaseError as error:  # then they are refused after all
            for _, refusal in refused:
                refusal.__cause__ = error
            return answers
        for place, answer in zip(spilled, written, strict=True):
            answers[place] = answer
        return answers

    def _keep_outside(self, jobs: Sequence[NewJob], why: str) -> list[Answer]:
        """Into the outbox although Redis is there."""
        try:
            return self._into_outbox(jobs) if jobs else []
        except DatabaseError as error:
            refusal = OutboxUnavailable(why)
            refusal.__cause__ = error
            return [refusal] * len(jobs)

    def _into_outbox(
        self, jobs: Sequence[NewJob], *, on_commit: bool = False, tried: bool = False, error: str = ""
    ) -> list[Answer]:
        """What the database can refuse by itself is refused at once, not when the row is pushed."""
        tenants = _Tenants({job.tenant for job in jobs})
        refused = [tenants.refusal(job) for job in jobs]
        taken = [tenants.named(job) for job, refusal in zip(jobs, refused, strict=True) if refusal is None]
        written = outbox.write_and_push_on_commit(taken, self.push) if on_commit else None
        if written is None:
            written = outbox.write(taken, tried=tried, error=error)
        answers = iter(written)
        return [refusal if refusal is not None else next(answers) for refusal in refused]

    def _redis_is_there(self) -> bool:
        """False for a moment after an outage. Then it asks first, so that a job is in doubt only if it must be."""
        if not self._in_doubt:
            return True
        began = time.monotonic()
        if began < self._away_until:
            return False
        self._away_until = began + PAUSE_AFTER_OUTAGE_S  # one thread asks, and the others do not wait with it
        try:
            _probe()
        except Exception as error:
            if not is_away(error):
                raise
            self._went_away(error, pause_s=PAUSE_PER_PROBE * (time.monotonic() - began))
            return False
        self._in_doubt = False
        return True

    def _went_away(self, error: Exception, pause_s: float = 0.0) -> None:
        self._in_doubt = True
        self._away_until = time.monotonic() + max(PAUSE_AFTER_OUTAGE_S, pause_s)
        log.warning("Redis takes no jobs, they go to the outbox: %s: %s", type(error).__name__, error)


def _probe() -> None:
    """Ask on a connection of its own, as those of the engine wait for longer. Raises what ``is_away`` knows."""
    with connect(settings.JOBOPS_REDIS_URL, socket_timeout=PROBE_S) as redis:
        redis.ping()


def _fault(job: NewJob) -> InvalidJob | None:
    """What is wrong with the job itself: told at once, and never written into an outbox."""
    try:
        check_job(job)
    except InvalidJob as error:
        return error
    if "\0" in job.key + job.correlation_id + job.replay_of + job.tenant_uid:
        for name in ("key", "correlation_id", "replay_of", "tenant_uid"):
            if "\0" in getattr(job, name):
                return InvalidJob(name, "must not contain a NUL character")
    return None


class _Tenants:
    """What the database knows of the tenants of a batch. One query."""

    def __init__(self, slugs: set[str]) -> None:
        self._known = {tenant.slug: tenant for tenant in Tenant.objects.filter(slug__in=slugs)}

    def refusal(self, job: NewJob) -> EnqueueRefused | None:
        """Why the job cannot be taken in, if it cannot."""
        tenant = self._known.get(job.tenant)
        if tenant is None or not belongs(job.tenant_uid, tenant):
            return UnknownTenant(job.tenant)
        return IntakeClosed(job.tenant) if tenant.intake_closed else None

    def named(self, job: NewJob) -> NewJob:
        """The job, saying whose it is: when it is pushed, another customer may have the slug."""
        return job._replace(tenant_uid=str(self._known[job.tenant].pk))


_enqueuer = RuntimeEnqueuer()


def enqueuer() -> RuntimeEnqueuer:
    """The enqueuer of this process."""
    return _enqueuer


def pusher() -> relay.Pusher:
    """What the relay pushes outbox rows with."""
    return RedisPusher()
