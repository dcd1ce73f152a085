"""Straight to Redis. What only Redis does not know, as it was flushed, is put back there: lanes and tenants."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import Error as DatabaseError

from jobops.engine.errors import EnqueueRefused, InvalidJob, UnknownTenant
from jobops.engine.records import Enqueued, NewJob
from jobops.runtime.engine import get_engine
from tenants.policy import push_slug

Refused = tuple[NewJob, Enqueued | EnqueueRefused]
"""A job with what Redis answered to it."""


class RedisPusher:
    """Takes jobs into the Redis of this process: also after a fork."""

    def enqueue_checked(self, job: NewJob) -> Enqueued | EnqueueRefused:
        """As of one job in ``enqueue_many``, that has passed ``check_job``."""
        answer = get_engine().scripts.take_in(job)
        if type(answer) is Enqueued:
            return answer
        return self._with_restored([job], [answer])[0]

    def enqueue_many(self, jobs: Sequence[NewJob], /, *, checked: bool = False) -> list[Enqueued | EnqueueRefused]:
        """One answer for each job, in order. ``checked``: they have passed ``check_job``. Raises ``RedisError``."""
        return self._with_restored(jobs, get_engine().scripts.enqueue_many(jobs, checked=checked))

    def _with_restored(
        self, jobs: Sequence[NewJob], answers: list[Enqueued | EnqueueRefused]
    ) -> list[Enqueued | EnqueueRefused]:
        scripts = get_engine().scripts
        for lacks, restore in ((_lacks_tenant, _restore_tenants), (_lacks_lane, _restore_lanes)):
            places = [place for place, answer in enumerate(answers) if lacks(answer)]
            restored = restore([(jobs[place], answers[place]) for place in places]) if places else set()
            again = [place for place in places if jobs[place].id in restored]
            for place, answer in zip(
                again, scripts.enqueue_many([jobs[place] for place in again], checked=True), strict=True
            ):
                answers[place] = answer
        return answers


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
