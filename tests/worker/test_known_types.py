"""Workers tell which job types their code knows, so that people see why a job waits for another release."""

from __future__ import annotations

from tests.tools import wait_for
from tests.worker.crew import Crew


def knows(crew: Crew, job: str) -> list[bool | None]:
    """Of each worker that reported, whether it knows the job's type."""
    return [worker.knows for worker in crew.engine.scripts.why(job).workers]


def test_a_pool_that_lacks_a_type_is_told_from_one_that_has_it(crew: Crew) -> None:
    """LS-12: two pools with different code."""
    job = crew.enqueue("nothing", fields={"lane": "interactive"})
    crew.start(lanes=["bulk"], job_types=["sleep", "fail"])
    wait_for(lambda: knows(crew, job) == [False], what="the first pool's types")
    crew.start(lanes=["bulk"], job_types=["sleep", "nothing"])
    wait_for(lambda: sorted(map(str, knows(crew, job))) == ["False", "True"], what="the second pool's types")


def test_a_worker_that_does_not_say_is_told_from_one_that_lacks_it(crew: Crew) -> None:
    job = crew.enqueue("nothing", fields={"lane": "interactive"})
    crew.start(lanes=["bulk"])
    wait_for(lambda: knows(crew, job) == [None], what="the worker's report")
