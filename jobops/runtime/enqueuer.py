"""How a job gets from the code that asks for it to Redis, whatever state the two stores are in.

Inside a transaction: a row of the outbox, pushed on commit. Outside: straight to Redis, and into the outbox, with
the same id, when Redis is away.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from django.conf import settings
from django.db import Error as DatabaseError

from jobops.context import outbox, relay
from jobops.engine.client import connect
from jobops.engine.errors import EnqueueRefused, IntakeClosed, InvalidJob, UnknownTenant
from jobops.engine.link import is_away
from jobops.engine.records import Enqueued, NewJob
from jobops.engine.scripts import Scripts
from jobops.engine.validation import check_job
from jobops.runtime.engine import get_engine
from tenants.models import Tenant
from tenants.policy import belongs, push_slug

log = logging.getLogger("jobops.runtime")

PAUSE_AFTER_OUTAGE_S = 1.0
"""How long enqueues go to the outbox unasked after Redis failed: a web request must not wait for it again each time."""

PROBE_S = 0.5
"""How long the one that asks again waits for an answer: a Redis that swallows everything refuses nothing."""

PAUSE_PER_PROBE = 4
"""The pause is this much longer than the probe that failed, if that is more: little of the time goes into waiting."""

BATCH = 500

Refused = tuple[NewJob, Enqueued | EnqueueRefused]
"""A job with what Redis answered to it."""


class RuntimeEnqueuer:
    """The ``Enqueuer`` of the contracts and the ``Pusher`` of the outbox."""

    def __init__(self) -> None:
        self._away_until = 0.0
        self._in_doubt = False

    def enqueue(self, job: NewJob) -> Enqueued:
        """Take in one job. Raises ``EnqueueRefused`` (unknown tenant, closed intake, depth limit, …)."""
        answer = self.enqueue_many([job])[0]
        if isinstance(answer, EnqueueRefused):
            raise answer
        return answer

    def enqueue_many(self, jobs: Sequence[NewJob], /) -> list[Enqueued | EnqueueRefused]:
        """Take in many; one answer for each, in order. A refusal of one does not touch the others."""
        faults = [_fault(job) for job in jobs]
        good = [job for job, fault in zip(jobs, faults, strict=True) if fault is None]
        answers: list[Enqueued | EnqueueRefused] = []
        if outbox.in_transaction():
            answers = self._into_outbox(good, on_commit=True)
        else:
            for start in range(0, len(good), BATCH):
                answers += self._straight(good[start : start + BATCH])
        taken = iter(answers)
        return [fault if fault is not None else next(taken) for fault in faults]

    def push(self, ids: Sequence[str]) -> int:
        """Push outbox rows that were committed a moment ago; answers how many arrived. Raises ``RedisError``."""
        if not self._redis_is_there():
            return 0
        try:
            return relay.push_now(_Redis(), ids)
        except Exception as error:
            if is_away(error):
                self._went_away(error)
            raise

    def _straight(self, jobs: Sequence[NewJob]) -> list[Enqueued | EnqueueRefused]:
        if not self._redis_is_there():
            return self._into_outbox(jobs)
        try:
            return _Redis().enqueue_many(jobs)
        except Exception as error:
            if not is_away(error):
                raise
            self._went_away(error)
            # The request may have arrived and only the answer was lost: the rows are in doubt from now on.
            return self._into_outbox(jobs, tried=True, error=f"{type(error).__name__}: {error}")

    def _into_outbox(
        self, jobs: Sequence[NewJob], *, on_commit: bool = False, tried: bool = False, error: str = ""
    ) -> list[Enqueued | EnqueueRefused]:
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


class _Redis:
    """Straight to Redis. What only Redis does not know, as it was flushed, is put back there: lanes and tenants."""

    def enqueue_many(self, jobs: Sequence[NewJob], /) -> list[Enqueued | EnqueueRefused]:
        """One answer for each job, in order. Raises ``RedisError``."""
        scripts = get_engine().scripts
        answers = [_enqueue_one(scripts, jobs[0])] if len(jobs) == 1 else list(scripts.enqueue_many(jobs))
        for lacks, restore in ((_lacks_tenant, _restore_tenants), (_lacks_lane, _restore_lanes)):
            places = [place for place, answer in enumerate(answers) if lacks(answer)]
            restored = restore([(jobs[place], answers[place]) for place in places]) if places else set()
            again = [place for place in places if jobs[place].id in restored]
            for place, answer in zip(again, scripts.enqueue_many([jobs[place] for place in again]), strict=True):
                answers[place] = answer
        return answers


def _enqueue_one(scripts: Scripts, job: NewJob) -> Enqueued | EnqueueRefused:
    """A round trip less than a batch of one."""
    try:
        return scripts.enqueue(job)
    except EnqueueRefused as refused:
        return refused


def _fault(job: NewJob) -> InvalidJob | None:
    """What is wrong with the job itself: told at once, and never written into an outbox."""
    try:
        check_job(job)
    except InvalidJob as error:
        return error
    for name in ("job_type", "key", "correlation_id", "replay_of", "tenant_uid"):
        if "\0" in getattr(job, name):
            return InvalidJob(name, "must not contain a NUL character")
    return None


def _lacks_tenant(answer: Enqueued | EnqueueRefused) -> bool:
    return isinstance(answer, UnknownTenant)


def _lacks_lane(answer: Enqueued | EnqueueRefused) -> bool:
    return isinstance(answer, InvalidJob) and answer.field == "lane"


def _restore_tenants(refused: Sequence[Refused]) -> set[str]:
    """Ids of those jobs whose tenant the database knows, and Redis now too."""
    known: dict[str, bool] = {}
    for slug in {job.tenant for job, _ in refused}:
        try:
            known[slug] = push_slug(slug)
        except DatabaseError as error:  # without the database nobody can tell: the refusal stands
            for job, answer in refused:
                if job.tenant == slug and isinstance(answer, UnknownTenant):
                    answer.__cause__ = error
    return {job.id for job, _ in refused if known.get(job.tenant)}


def _restore_lanes(refused: Sequence[Refused]) -> set[str]:
    """Ids of those jobs whose lane is in the settings, and now in Redis too."""
    engine = get_engine()
    engine.scripts.set_lanes(engine.lanes)
    return {job.id for job, _ in refused if job.lane in engine.lanes}


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
        return replace(job, tenant_uid=str(self._known[job.tenant].pk))


_enqueuer = RuntimeEnqueuer()


def enqueuer() -> RuntimeEnqueuer:
    """The enqueuer of this process."""
    return _enqueuer


def pusher() -> relay.Pusher:
    """What the relay pushes outbox rows with."""
    return _Redis()
