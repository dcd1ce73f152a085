"""What RQ's own tools show of our data is true, and looking changes nothing."""

from __future__ import annotations

import pytest
from rq import Queue, Worker
from rq.job import Job
from rq.registry import StartedJobRegistry
from rq.serializers import JSONSerializer

from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.runtime import enqueuer
from tests.runtime.factory import claim, new_job, run_all, settle, tenant

pytestmark = pytest.mark.django_db(transaction=True)


def dump(engine: Engine) -> dict[bytes, bytes]:
    """Everything in Redis but what a clock moves."""
    return {key: engine.redis.dump(key) for key in sorted(engine.redis.keys("*"))}  # type: ignore[misc]


def test_rqs_view_of_queues_and_registries_is_true_and_harmless(both: Engine) -> None:
    tenant("other")
    succeeded, dead, running, queued = (new_job() for _ in range(4))
    for job, outcome in ((succeeded, Outcome.succeeded(b'"done"')), (dead, Outcome.failed("poison", "E", "e"))):
        enqueuer().enqueue(job)
        run_all(both, outcome)
    enqueuer().enqueue(running)
    lease = claim(both)
    assert lease is not None
    enqueuer().enqueue(queued)
    enqueuer().enqueue(new_job("other", lane="bulk"))
    before = dump(both)

    queues = {queue.name: queue for queue in Queue.all(connection=both.redis, serializer=JSONSerializer)}
    assert set(queues) == {"acme.interactive", "other.bulk"}
    acme = queues["acme.interactive"]
    assert acme.count == 1
    assert acme.get_job_ids() == [queued.id]
    assert acme.started_job_registry.get_job_count(cleanup=False) == 1
    assert acme.started_job_registry.get_job_ids(cleanup=False) == [running.id]
    assert acme.finished_job_registry.get_job_ids(cleanup=False) == [succeeded.id]
    assert acme.failed_job_registry.get_job_ids(cleanup=False) == [dead.id]
    assert [worker.name for worker in Worker.all(connection=both.redis)] == []
    for queue in queues.values():
        registries = (queue.started_job_registry, queue.finished_job_registry, queue.failed_job_registry)
        assert sum(registry.count for registry in registries) == (3 if queue is acme else 0)  # with RQ's clean-up
    assert dump(both) == before

    assert settle(both, lease, Outcome.succeeded()) == "succeeded"


def test_rqs_clean_up_never_takes_a_running_job_from_its_lease(both: Engine) -> None:
    """Trap 12: the scores of running jobs never expire for RQ, however late its clean-up believes it is."""
    enqueuer().enqueue(job := new_job())
    lease = claim(both)
    assert lease is not None
    registry = StartedJobRegistry("acme.interactive", connection=both.redis, serializer=JSONSerializer)
    registry.cleanup(timestamp=4_000_000_000)
    assert registry.get_job_ids(cleanup=False) == [job.id]
    assert settle(both, lease, Outcome.succeeded()) == "succeeded"


def test_rq_reads_our_jobs_as_its_own(both: Engine) -> None:
    enqueuer().enqueue(job := new_job())
    fetched = Job.fetch(job.id, connection=both.redis, serializer=JSONSerializer)
    assert (fetched.origin, fetched.get_status().value, fetched.timeout) == ("acme.interactive", "queued", 30)
    assert fetched.func_name == "tests.echo"
    assert (fetched.args, fetched.kwargs) == ([], {})
    run_all(both, Outcome.succeeded(b"1"))
    fetched.refresh()
    assert fetched.get_status().value == "finished"
    assert fetched.ended_at is not None
