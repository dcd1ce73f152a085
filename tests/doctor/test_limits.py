"""Limits and pauses that Redis does not obey, and gates above their limit (I2)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobops.contracts import discovery, registry
from jobops.doctor.checks import CHECKS
from jobops.doctor.examination import examine
from jobops.doctor.site import Site
from jobops.limits import services
from jobops.limits.targets import EVERYTHING, Target
from tests.contracts.catalogs import declare
from tests.doctor.plant import left, look, mended, running_job

STRIPE = Target("resource", "stripe")


@pytest.fixture(autouse=True)
def contracts(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(discovery, "_faults", ())
    with registry.temporary_registry():
        declare(name="pay", resource="stripe", concurrency=3)
        site.engine.scripts.set_limit("stripe", 3, None)
        yield


def test_a_limit_that_differs_is_put_in_force(site: Site) -> None:
    assert look(site) == []
    site.engine.scripts.set_limit("stripe", 30, None)
    mended(site, ("limit_drift", "stripe"))


def test_pauses_that_redis_does_not_obey_or_nobody_wanted_are_put_right(site: Site) -> None:
    services.pause(target=STRIPE, by="tests")
    services.pause(target=EVERYTHING, by="tests")
    site.engine.scripts.resume_gate("stripe")
    site.engine.scripts.resume()
    site.engine.scripts.pause_gate("type:pay")
    mended(site, ("limit_drift", "stripe"), ("limit_drift", "everything"), ("limit_drift", "pay"))
    assert site.engine.scripts.is_paused()


def test_more_in_flight_than_the_limit_is_told_and_left(site: Site) -> None:
    """I2: here starts past a limit that was in force long before."""
    for _ in range(3):
        running_job(site.engine, job_type="pay", resource="stripe")
    with registry.temporary_registry():
        declare(name="pay", resource="stripe", concurrency=2)
        site.engine.scripts.set_limit("stripe", 2, None)
        report = left(site, ("over_limit", "stripe"))
    assert report.findings[0].invariant == "I2"


def test_a_limit_that_was_lowered_while_jobs_run_is_a_note_and_no_fault(site: Site) -> None:
    for _ in range(3):
        running_job(site.engine, job_type="pay", resource="stripe")
    services.limit_set(target=STRIPE, by="tests", reason="x", concurrency=1)
    report = examine(site, CHECKS)
    assert (report.wrong, [finding.code for finding in report.findings]) == (0, ["over_limit"])
    assert "lowered while they ran" in report.findings[0].text
