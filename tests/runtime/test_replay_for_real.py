"""A job dies in a real worker, its letter is replayed, and the scheduler takes in how that ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dlq.models import DeadLetter, ReplayRun
from dlq.services import letter_replay
from jobops.engine.client import Engine
from tests.runtime import example_jobs, factory
from tests.runtime.processes import run, running
from tests.tools import wait_for

pytestmark = pytest.mark.django_db(transaction=True)

JOBS = {"JOBOPS_JOB_MODULES": "tests.runtime.example_jobs"}


def is_in(state: str, letter_id: int) -> bool:
    return DeadLetter.objects.filter(pk=letter_id, state=state).exists()


@pytest.mark.slow
def test_it_dies_and_dies_again_in_the_same_letter_and_is_resolved_once_the_cause_is_gone(
    both: Engine, tmp_path: Path
) -> None:
    """Kill -9 of the scheduler while the last replay ends changes nothing: the next one takes its end in."""
    assert example_jobs.fragile, "known in this process too, which replays"
    done = run("enqueue", "tests.fragile", "--tenant", "acme", "--json", **JOBS)
    assert done.returncode == 0, done.stderr
    job_id = json.loads(done.stdout)["id"]
    with running(tmp_path / "worker", "worker", **JOBS):
        with running(tmp_path / "scheduler", "scheduler", **JOBS) as scheduler:
            wait_for(lambda: DeadLetter.objects.filter(job_id=job_id).exists(), seconds=40, what="the dead letter")
            letter = DeadLetter.objects.get()
            assert letter.error_class.endswith("DoesNotExist")
            letter_replay(letter_id=letter.pk, by="tests")
            wait_for(lambda: is_in("open", letter.pk), seconds=20, what="the reopened letter")
            again = DeadLetter.objects.get()
            assert (again.pk, again.replays, len(again.history)) == (letter.pk, 1, 2)
            assert (again.dead_at, again.due_at) == (letter.dead_at, letter.due_at)
            factory.tenant("mended")
            scheduler.kill()
            letter_replay(letter_id=letter.pk, by="tests")
            wait_for(lambda: both.redis.zcard(both.keys.outcomes()), seconds=20, what="the outcome in Redis")
            assert is_in("replaying", letter.pk)
        with running(tmp_path / "next", "scheduler", **JOBS):
            wait_for(lambda: is_in("resolved", letter.pk), seconds=40, what="the resolved letter")
    assert DeadLetter.objects.get().replays == 2
    assert [each.state for each in ReplayRun.objects.order_by("number")] == ["died", "succeeded"]
