"""`current_job()`: what a job may know of itself."""

from __future__ import annotations

import logging

import pytest
from structlog.contextvars import get_contextvars

from jobops import NoCurrentJob, current_job
from jobops.contracts.running import RunningJob, running

JOB = RunningJob("job-1", "acme", "bulk", "mail.send", 2, 5, "chain-1")


def test_it_is_refused_outside_of_a_job() -> None:
    with pytest.raises(NoCurrentJob, match="outside of a job"):
        current_job()


def test_it_tells_which_job_runs_also_in_a_job_within_a_job() -> None:
    with running(JOB):
        me = current_job()
        assert (me.id, me.tenant, me.attempt, me.correlation_id) == ("job-1", "acme", 2, "chain-1")
        with running(RunningJob("job-2", "acme", "bulk", "mail.send", 1, 5, "chain-1")):
            assert current_job().id == "job-2"
        assert current_job().id == "job-1"


def test_its_log_carries_the_job(caplog: pytest.LogCaptureFixture) -> None:
    with running(JOB), caplog.at_level(logging.INFO):
        current_job().log.info("sent %d", 3, extra={"to": "a@b"})
    (record,) = caplog.records
    assert (record.name, record.getMessage()) == ("jobops.job.mail.send", "sent 3")
    carried = {
        name: getattr(record, name) for name in ("job_id", "tenant", "job_type", "attempt", "correlation_id", "to")
    }
    assert carried == {
        "job_id": "job-1", "tenant": "acme", "job_type": "mail.send", "attempt": 2, "correlation_id": "chain-1",
        "to": "a@b",
    }  # fmt: skip


def test_every_line_that_is_logged_within_it_carries_the_job() -> None:
    with running(JOB):
        assert get_contextvars()["job_id"] == "job-1"
        assert get_contextvars()["tenant"] == "acme"
    assert "job_id" not in get_contextvars()
