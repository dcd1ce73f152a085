"""``manage.py scheduler`` as a process: it leads, is followed, survives both stores and stops when told."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from dlq.models import DeadLetter
from jobops.context import outbox
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.scheduling.scheduler import LOCK
from tests.runtime.conftest import Outage
from tests.runtime.factory import new_job, run_all, waiting
from tests.runtime.processes import run, running
from tests.tools import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


def holder(engine: Engine) -> bytes | None:
    return engine.redis.get(engine.keys.lock(LOCK))  # type: ignore[return-value]


def wait_for_leader(engine: Engine, other_than: bytes | None = None, seconds: float = 20) -> bytes:
    return (
        wait_for(lambda: (found := holder(engine)) and found != other_than and found, seconds=seconds, what="a leader")
        or b""
    )


def stop(process: subprocess.Popen[bytes], within: float = 8.0) -> None:
    asked = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert time.monotonic() - asked < within


def test_it_relays_promotes_and_takes_deaths_in_and_stops_promptly(both: Engine, tmp_path: Path) -> None:
    left_behind, delayed = new_job(), new_job(delay_ms=500)
    both.scripts.enqueue(dying := new_job())
    run_all(both, Outcome.failed("poison", "ValueError", "no"))
    outbox.write([left_behind])
    with running(tmp_path / "log", "scheduler") as process:
        wait_for_leader(both)
        both.scripts.enqueue(delayed)
        wait_for(lambda: set(waiting(both)) == {left_behind.id, delayed.id}, what="both jobs in the queue")
        wait_for(lambda: DeadLetter.objects.filter(job_id=dying.id).exists(), what="the dead letter")
        stop(process)
    assert holder(both) is None
    assert not OutboxEntry.objects.exists()
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_killed_leader_is_followed_and_a_stopped_one_stands_down_when_it_wakes(both: Engine, tmp_path: Path) -> None:
    """SC-02, SC-01"""
    with running(tmp_path / "a", "scheduler") as a:
        first = wait_for_leader(both)
        with running(tmp_path / "b", "scheduler") as b:
            wait_for(lambda: both.redis.keys("rq:scheduler_instance:*")[1:], seconds=20, what="the second scheduler")
            a.send_signal(signal.SIGSTOP)
            second = wait_for_leader(both, other_than=first, seconds=15)
            # Whoever does not lead promotes all the same.
            both.scripts.enqueue(job := new_job(delay_ms=10))
            wait_for(lambda: waiting(both) == [job.id], what="promotion")
            a.send_signal(signal.SIGCONT)
            wait_for(lambda: b"stands down" in (tmp_path / "a").read_bytes(), what="the first one's standing down")
            assert holder(both) == second
            assert b.poll() is None
            b.kill()
            assert wait_for_leader(both, other_than=second, seconds=15) == first
            stop(a)


def test_delayed_jobs_survive_a_restart_of_redis(outage: Outage, tmp_path: Path) -> None:
    """RD-06: jobs due in some seconds; Redis restarts before; all are queued with the scheduler untouched."""
    engine = outage.engine
    with running(tmp_path / "log", "scheduler") as process:
        wait_for_leader(engine)
        jobs = [new_job(delay_ms=2500) for _ in range(5)]
        engine.scripts.enqueue_many(jobs)
        outage.begin()
        time.sleep(1)  # long enough for the scheduler to meet it
        outage.end()
        wait_for(lambda: len(waiting(engine)) == 5, what="the delayed jobs")
        wait_for_leader(engine)
        outbox.write([late := new_job()])
        wait_for(lambda: late.id in waiting(engine), what="the relay")
        stop(process)


def test_without_a_database_delayed_jobs_move_on_and_duties_resume_when_it_is_back(
    both: Engine, tmp_path: Path
) -> None:
    """Trap 8. An empty database stands for one that is away: every duty that needs it fails."""
    url = f"sqlite:///{tmp_path}/other.sqlite3"
    with running(tmp_path / "log", "scheduler", DATABASE_URL=url) as process:
        wait_for_leader(both)
        both.scripts.enqueue(job := new_job(delay_ms=10))
        wait_for(lambda: waiting(both) == [job.id], what="promotion")
        wait_for(lambda: b"duty outbox relay failed" in (tmp_path / "log").read_bytes(), what="the failure's notice")
        run_all(both, Outcome.failed("poison", "ValueError", "no"))
        assert run("migrate", "-v0", DATABASE_URL=url).returncode == 0
        wait_for(lambda: both.redis.zcard("jobops:dead") == 0, seconds=40, what="the intake")
        wait_for(lambda: b"duty outbox relay works again" in (tmp_path / "log").read_bytes(), seconds=40, what="relief")
        stop(process)


def test_a_duty_that_hangs_does_not_hold_up_the_exit(both: Engine, tmp_path: Path) -> None:
    module = tmp_path / "hanging_jobs.py"
    module.write_text(
        "import time\n"
        "from jobops.steward import intake\n"
        "def hang(context):\n"
        "    open(__file__ + '.hangs', 'w').close()\n"
        "    time.sleep(600)\n"
        "intake.run = hang\n"
    )
    env = {"JOBOPS_JOB_MODULES": "hanging_jobs", "PYTHONPATH": str(tmp_path)}
    with running(tmp_path / "log", "scheduler", **env) as process:
        wait_for(lambda: Path(f"{module}.hangs").exists(), seconds=20, what="the hanging duty")
        both.scripts.enqueue(job := new_job(delay_ms=10))
        wait_for(lambda: waiting(both) == [job.id], what="promotion beside it")
        stop(process, within=4)


def test_once_does_everything_and_exits(both: Engine) -> None:
    outbox.write([job := new_job()])
    OutboxEntry.objects.update(next_try_at="2020-01-01T00:00:00Z")
    done = run("scheduler", "--once", "--json")
    assert done.returncode == 0, done.stderr
    assert '{"duty": "outbox relay", "done": 1}' in done.stdout
    assert waiting(both) == [job.id]


def test_once_says_in_one_line_what_failed(both: Engine, tmp_path: Path) -> None:
    done = run("scheduler", "--once", DATABASE_URL=f"sqlite:///{tmp_path}/empty.sqlite3", JOBOPS_LOG_LEVEL="ERROR")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("Refused: ")
    assert "no such table" in last
