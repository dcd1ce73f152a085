"""The catalog as its page shows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.text import capfirst
from redis.exceptions import RedisError

from jobops.contracts.catalog.design import Catalog, Chapter, Failure, JobDesign, Line
from jobops.contracts.catalog.promises import Part, contract_parts, design_parts
from jobops.runtime import get_engine
from jobops.runtime.catalog import read_catalog
from jobops.web.charts import Bar, bar
from jobops.web.formats import duration, run_time
from jobops.web.inline import cell, inline
from jobops.web.selectors.reach import reading_redis

BAR_ROOM = 1.1
"""The time-out's tick stands inside the bar: so much longer is its scale."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell with the name of its column, which narrow screens show unless the cell is empty."""

    column: str
    html: SafeString
    empty: bool


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A part of a contract. ``measured`` empty where nothing can be measured."""

    name: str
    says: SafeString
    measured: SafeString | str


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job type's row. ``broken``: the promises it breaks; ``bar``: its p99 on its time-out, None: not measured."""

    job: JobDesign
    side_effects: SafeString | str
    design: tuple[ShownPart, ...]
    contract: tuple[ShownPart, ...]
    broken: tuple[tuple[str, Failure], ...]
    bar: Bar | None


@dataclass(frozen=True, slots=True)
class ShownChapter:
    """A chapter; each row's first cell is its head."""

    chapter: Chapter
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class CatalogPage:
    """All of it. ``elsewhere``: broken promises of what is no job type, each with its line."""

    catalog: Catalog
    jobs: tuple[JobLine, ...]
    elsewhere: tuple[tuple[str, Failure], ...]
    chapters: tuple[ShownChapter, ...]


def catalog_now() -> Catalog:
    """The catalog; while Redis is away nobody waits for it more than once."""
    try:
        with reading_redis():
            get_engine().redis.ping()
    except RedisError:
        return read_catalog(ask_redis=False)
    return read_catalog()


def catalog_page() -> CatalogPage:
    """The catalog with what its page needs to draw it."""
    catalog = catalog_now()
    names = {job.name for job in catalog.jobs}
    return CatalogPage(
        catalog,
        tuple(_job_line(job, catalog.lines) for job in catalog.jobs),
        tuple((promise, each) for promise, each in _failures(catalog.lines) if each.subject not in names),
        tuple(_shown(chapter) for chapter in catalog.chapters),
    )


def _job_line(job: JobDesign, lines: Iterable[Line]) -> JobLine:
    return JobLine(
        job,
        inline(job.side_effects) if job.side_effects else "",
        tuple(_part(part) for part in design_parts(job)),
        tuple(_part(part) for part in contract_parts(job)),
        tuple((promise, each) for promise, each in _failures(lines) if each.subject == job.name),
        _bar(job),
    )


def _failures(lines: Iterable[Line]) -> Iterable[tuple[str, Failure]]:
    return ((line.promise, failure) for line in lines for failure in line.failures)


def _part(part: Part) -> ShownPart:
    return ShownPart(capfirst(part.name), cell(part.says), cell(part.measured) if part.measured else "")


def _bar(job: JobDesign) -> Bar | None:
    p99_s = job.run_times.p99_s
    if p99_s is None:
        return None
    tone = "danger" if p99_s > job.timeout_s else "mark"
    label = f"p99 up to {run_time(p99_s)} of a time-out of {duration(job.timeout_s)}"
    return bar(p99_s, job.timeout_s * BAR_ROOM, label, tick=job.timeout_s, tone=tone)


def _shown(chapter: Chapter) -> ShownChapter:
    columns = [capfirst(column) for column in chapter.columns]
    rows = (
        tuple(Cell(name, cell(text), not text) for name, text in zip(columns, row, strict=True)) for row in chapter.rows
    )
    return ShownChapter(chapter, tuple(rows))
