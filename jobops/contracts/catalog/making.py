"""Puts the catalog together. Pure: the same registry and the same facts make the same catalog."""

from __future__ import annotations

from collections.abc import Iterable

from jobops.contracts.catalog.chapters import boundaries, fairness, observability, risks, scaling, scheduling
from jobops.contracts.catalog.design import Catalog
from jobops.contracts.catalog.facts import Installation, Measured, RunTimes
from jobops.contracts.catalog.jobs import job_design, job_limits
from jobops.contracts.catalog.lines import judge
from jobops.contracts.declared_limits import declared_limits
from jobops.contracts.job_type import JobType

CHAPTERS = (
    fairness.chapter, scheduling.chapter, scaling.chapter, observability.chapter, boundaries.chapter, risks.chapter,
)  # fmt: skip


def make_catalog(job_types: Iterable[JobType], installation: Installation, measured: Measured) -> Catalog:
    """The execution design of these job types, by name."""
    found = sorted(job_types, key=lambda job_type: job_type.name)
    declared = declared_limits(found)
    jobs = tuple(
        job_design(
            job_type,
            measured.run_times.get(job_type.name, RunTimes()),
            installation,
            job_limits(job_type, declared, measured.changed_limits),
        )
        for job_type in found
    )
    return Catalog(
        version=installation.version,
        jobs=jobs,
        chapters=tuple(chapter(jobs, installation, measured) for chapter in CHAPTERS),
        lines=judge(jobs, installation, measured),
        measured_at=measured.live.at if measured.live is not None else None,
        missing=measured.missing,
    )
