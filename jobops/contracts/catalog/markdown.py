"""The catalog as a Markdown document, to be kept beside the code: what was measured has columns of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from jobops.contracts.catalog.design import Catalog, JobDesign
from jobops.contracts.catalog.promises import NOT_TOLD, contract_parts, design_parts, duration
from jobops.contracts.catalog.summary import measured_words, summary
from jobops.contracts.catalog.words import NOTHING

_SPECIAL = re.compile(r"[\\|<>*\[\]]")
_CODE = re.compile(r"(`+[^`]+`+)")


def as_markdown(catalog: Catalog) -> str:
    """The whole design; ends with a line break."""
    lines = ["# Execution design", "", f"{summary(catalog)} {measured_words(catalog)}", ""]
    if catalog.version:
        lines += [f"Written by `manage.py catalog` of jobops {catalog.version}.", ""]
    lines += ["## Job types", "", *_inventory(catalog.jobs), "", "## Contracts"]
    for job in catalog.jobs:
        lines += ["", f"### {job.name}", "", *_contract(job)]
    for chapter in catalog.chapters:
        lines += ["", f"## {chapter.title}", "", escaped(chapter.intro), "", *_table(chapter.columns, chapter.rows)]
    lines += ["", "## What is checked", "", *_checked(catalog)]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text as Markdown shows it in a table's cell; what stands between backticks stays code."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        part.replace("|", r"\|") if index % 2 else _SPECIAL.sub(r"\\\g<0>", part) for index, part in enumerate(parts)
    )


def _inventory(jobs: Sequence[JobDesign]) -> Iterator[str]:
    columns = ("job", "trigger", "side effects", "guard", "idempotency", "lane", "measured duration")
    rows = [
        (
            f"`{job.name}`", job.trigger, job.side_effects or NOT_TOLD, job.guard or "none", job.idempotent or NOT_TOLD,
            job.lane, duration(job.run_times),
        )
        for job in jobs
    ]  # fmt: skip
    return _table(columns, rows)


def _contract(job: JobDesign) -> Iterator[str]:
    parts = [*design_parts(job), *contract_parts(job)]
    return _table(("part", "by contract", "measured"), [(part.name, part.says, part.measured) for part in parts])


def _checked(catalog: Catalog) -> Iterator[str]:
    rows = [
        (
            line.promise, line.state.value, line.judged_by,
            "; ".join(f"`{each.subject}` {each.text}" for each in line.failures), line.measured,
        )
        for line in catalog.lines
    ]  # fmt: skip
    return _table(("line", "state", "judged by", "broken by", "measured"), rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(escaped(cell) or NOTHING for cell in row)} |"
