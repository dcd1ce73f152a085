"""Jobs run, one after the other and on several slots."""

from __future__ import annotations

from tests.worker.crew import Crew


def test_a_burst_worker_runs_what_is_there_and_ends(crew: Crew) -> None:
    ids = [crew.enqueue("nothing") for _ in range(30)]
    crew.run_burst()
    assert {crew.job(each).state for each in ids} == {"succeeded"}
    assert crew.running() == 0
    assert crew.supervisors() == []
    assert crew.engine.redis.smembers("rq:workers") == set()


def test_each_job_runs_once_on_several_slots(crew: Crew) -> None:
    ids = [crew.enqueue("nothing") for _ in range(200)]
    crew.run_burst(processes=3)
    assert sorted(mark.job for mark in crew.marks("start")) == sorted(ids)


def test_an_idle_slot_starts_a_new_job_at_once(crew: Crew) -> None:
    crew.start()
    crew.wait_slots(1)
    job = crew.enqueue("nothing")
    crew.wait_end(job, seconds=5)
    view = crew.job(job)
    assert view.started_at is not None
    assert view.enqueued_at is not None
    assert (view.started_at - view.enqueued_at).total_seconds() < 0.5
