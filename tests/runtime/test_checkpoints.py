"""Checkpoints: after the answer they are there, whatever happens, and only another one changes them."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from jobops import InvalidJob, LeaseLost, current_job
from jobops.contracts.running import RunningJob, running
from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.payload import decode_result
from jobops.runtime import lookup
from tests.runtime import effect_jobs, factory
from tests.runtime.attempts import WORKER, attempt, calling, enqueue, lose, run
from tests.runtime.conftest import Outage
from tests.runtime.processes import running as process
from tests.tools import wait_for

pytestmark = pytest.mark.django_db(transaction=True)

PLAIN = RunningJob("job-1", "acme", "bulk", "t", 1, 5, "chain-1")


def saved(engine: Engine, job_id: str) -> Any:
    view = read_job(engine, job_id)
    assert view is not None
    return decode_result(view.checkpoint, "checkpoint") if view.checkpoint else None


def test_what_was_interrupted_is_taken_up_where_it_was_and_nothing_is_skipped(both: Engine, tmp_path: Path) -> None:
    """OB-10: ten items in threes, stopped within the second batch."""
    ledger = tmp_path / "ledger"
    job_id = enqueue(effect_jobs.walk, str(ledger), 10, 3, stop_at=5)
    assert attempt(both)[2] == "retry"
    assert saved(both, job_id) == {"after": 3}
    _, outcome, ended = attempt(both)
    assert (ended, decode_result(outcome.result)) == ("succeeded", 3)
    assert effect_jobs.read(ledger) == [*"1234", *"456789", "10"]
    assert read_job(both, job_id).progress == (10, 10)  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_job_that_is_killed_in_the_middle_of_a_batch_resumes_before_it(both: Engine, tmp_path: Path) -> None:
    """OB-10, with kill -9 of the process that runs it."""
    ledger = tmp_path / "ledger"
    job_id = enqueue(effect_jobs.walk, str(ledger), 10, 3, stop_at=5, kill=True)
    with process(tmp_path / "worker", "worker", **WORKER):
        wait_for(lambda: lookup(job_id).state == "succeeded", seconds=40, what="its end")  # type: ignore[union-attr]
    assert effect_jobs.read(ledger) == [*"1234", *"456789", "10"]
    assert [each.outcome for each in lookup(job_id).history] == ["worker_lost", "succeeded"]  # type: ignore[union-attr]


def test_a_failure_at_the_first_step_after_resuming_changes_nothing(both: Engine, tmp_path: Path) -> None:
    """OB-11: it got to 400; two resumptions fail at once; the third one starts at 400."""
    ledger = tmp_path / "ledger"
    job_id = enqueue(effect_jobs.slip, str(ledger))
    for ended in ("retry", "retry", "dead"):
        assert attempt(both)[2] == ended
        assert saved(both, job_id) == 400
    assert effect_jobs.read(ledger) == ["None", "400", "400"]
    assert read_job(both, job_id).progress == (400, 1_000)  # type: ignore[union-attr]


def test_a_rescue_keeps_it_and_a_late_zombie_cannot_change_it(both: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """The run whose lease was given away is told so, and ends; an `except Exception` does not keep it alive."""
    after: list[str] = []

    def stubborn() -> None:
        me = current_job()
        me.checkpoint(1)
        if me.attempt == 1:
            lose(both, zombie)
            assert successor() == 1
            for save in (lambda: me.checkpoint(99), lambda: me.progress(99, 99)):
                with pytest.raises(LeaseLost):
                    save()
            try:
                me.checkpoint(99)
            except Exception:  # noqa: BLE001 - as careless jobs do
                after.append("went on")
            after.append("went on")

    def successor() -> Any:
        claimed = factory.claim(both)
        assert claimed is not None
        assert claimed.attempt == 2
        with running(RunningJob("", "acme", "bulk", "t", 2, 3, "c", checkpoint=claimed.checkpoint)):
            return current_job().state

    job_id = enqueue(calling("effects.stubborn", stubborn))
    zombie = factory.claim(both)
    assert zombie is not None
    outcome = run(zombie)
    assert (outcome.error_class, after) == ("jobops.LeaseLost", [])
    assert factory.settle(both, zombie, outcome) == "stale"
    assert saved(both, job_id) == 1
    assert read_job(both, job_id).progress is None  # type: ignore[union-attr]
    assert "ends without effect" in caplog.text


def test_while_redis_is_away_it_waits_and_is_there_afterwards(outage: Outage) -> None:
    seen, waited = threading.Event(), []

    def comes_back() -> None:
        time.sleep(0.6)
        outage.end()
        seen.wait(30)  # a Redis ends with the thread that started it

    def patient() -> None:
        outage.begin()
        back.start()
        began = time.monotonic()
        current_job().checkpoint({"after": 7})
        waited.append(time.monotonic() - began)

    back = threading.Thread(target=comes_back)
    job_id = enqueue(calling("effects.patient", patient))
    claimed = factory.claim(outage.engine)
    assert claimed is not None
    try:
        assert run(claimed).kind == "succeeded"
        assert waited[0] > 0.3
        assert saved(outage.engine, job_id) == {"after": 7}
    finally:
        seen.set()
        back.join()


def test_values_come_back_as_they_were_and_what_cannot_be_carried_is_named() -> None:
    with running(PLAIN):
        me = current_job()
        assert me.state is None
        for value in (400, 0, False, {"after": "x", "ids": [1, 2]}, "page-2"):
            me.checkpoint(value)
            assert me.state == value
        for wrong, words in (
            (None, "None is nothing to go on from"),
            ({}, "nothing to go on from"),
            ([], "nothing to go on from"),
            ("", "nothing to go on from"),
            ({"after": {1, 2}}, r"checkpoint.after: set"),
            ({"at": (1, 2)}, r"checkpoint.at: tuple"),
            ("x" * 70_000, "70002 bytes as JSON, the limit is 65536"),
        ):
            with pytest.raises(InvalidJob, match=words):
                me.checkpoint(wrong)
        assert me.state == "page-2"


def test_a_replay_starts_from_what_it_was_given() -> None:
    with running(RunningJob("job-1", "acme", "bulk", "t", 1, 5, "chain-1", checkpoint=b'{"after":400}')):
        assert current_job().state == {"after": 400}
        current_job().checkpoint({"after": 500})
        assert current_job().state == {"after": 500}


def test_what_somebody_else_wrote_there_is_one_clear_error() -> None:
    odd = RunningJob("job-1", "acme", "bulk", "t", 1, 5, "chain-1", checkpoint=b"\x80rubbish")
    with running(odd), pytest.raises(InvalidJob, match="checkpoint: not a checkpoint of this engine"):
        _ = current_job().state
