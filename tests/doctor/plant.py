"""Faults as they come about, and what a whole installation has beside jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dlq.causes.repairing import put_right
from dlq.models import DeadLetterGroup
from jobops.audit.models import AuditEntry
from jobops.doctor.checks import CHECKS
from jobops.doctor.examination import examine
from jobops.doctor.report import Report
from jobops.doctor.site import Site
from jobops.engine.client import Engine
from jobops.engine.records import ClaimedJob
from jobops.engine.registrations import SupervisorReport, announce
from jobops.runtime import enqueuer
from jobops.scheduling.scheduler import LOCK
from tests.runtime.factory import claim, new_job

BY = "command:tester"


def scheduler(engine: Engine) -> None:
    """A scheduler leads."""
    assert engine.scripts.lock(LOCK, "leader", 600_000)


def worker(engine: Engine, lanes: tuple[str, ...] = ("interactive", "bulk"), name: str = "host-0123abcd") -> None:
    """A worker lives."""
    announce(engine, SupervisorReport(name, "host", 1, lanes, 1, 600_000, False, 0, "1"), [])


def waiting_job(engine: Engine, **fields: Any) -> str:
    """A job of ``acme`` that waits in its queue."""
    return enqueuer().enqueue(new_job(**fields)).id


def running_job(engine: Engine, **fields: Any) -> ClaimedJob:
    """A job that runs."""
    job_id = waiting_job(engine, **fields)
    claimed = claim(engine)
    assert claimed is not None
    assert claimed.id == job_id
    return claimed


def found(report: Report) -> list[tuple[str, str]]:
    """Code and subject of all that was found, notes left out."""
    return sorted((finding.code, finding.name) for finding in report.findings if not finding.is_note)


def look(site: Site) -> list[tuple[str, str]]:
    """What the doctor finds, without mending."""
    return found(examine(site, CHECKS))


def mended(site: Site, *wanted: tuple[str, str]) -> Report:
    """The doctor finds exactly these, leaves them without ``--repair``, mends them with it, each with a row in the
    audit, and then finds nothing."""
    assert look(site) == sorted(wanted)
    assert AuditEntry.objects.filter(actor=BY).count() == 0
    report = examine(site, CHECKS, repair=True, by=BY)
    assert found(report) == sorted(wanted)
    assert [finding for finding in report.findings if not finding.repaired and not finding.is_note] == []
    assert report.wrong == 0
    rows = AuditEntry.objects.filter(actor=BY, action__endswith=".mend")
    assert sorted(row.target_id for row in rows) == sorted(name for _code, name in wanted)
    assert {row.after["found"] for row in rows} == {code for code, _name in wanted}
    assert look(site) == []
    return report


def left(site: Site, *wanted: tuple[str, str]) -> Report:
    """The doctor finds exactly these, and cannot mend them."""
    assert look(site) == sorted(wanted)
    report = examine(site, CHECKS, repair=True, by=BY)
    assert report.wrong == len(wanted)
    assert look(site) == sorted(wanted)
    return report


def recount() -> None:
    """The counts of causes as a database has them that was written, or restored, as it is now."""
    for group_id in DeadLetterGroup.objects.order_by("pk").values_list("pk", flat=True):
        put_right(group_id, "tests")


Break = Callable[[Site], object]
