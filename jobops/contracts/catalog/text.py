"""The catalog for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from jobops.contracts.catalog.design import Catalog, Chapter, JobDesign, Line
from jobops.contracts.catalog.promises import Part, contract_parts, design_parts
from jobops.contracts.catalog.summary import measured_words, summary
from jobops.contracts.catalog.words import NOT_MEASURED

WIDTH, NAME_WIDTH = 110, 32


def as_text(catalog: Catalog) -> str:
    """The whole design, one part below the other; ends with a line break."""
    lines = [
        f"Execution design of jobops {catalog.version}".rstrip(),
        summary(catalog),
        measured_words(catalog),
        "",
        *_heading("Job types"),
    ]
    for job in catalog.jobs:
        lines += ["", *_job(job)]
    for chapter in catalog.chapters:
        lines += ["", *_chapter(chapter)]
    lines += ["", *_heading("What is checked"), "", lines_as_text(catalog.lines)]
    return visible_text("\n".join(lines)) + "\n"


def lines_as_text(lines: Iterable[Line]) -> str:
    """Each checked line with its state, and below it what breaks it."""
    found = list(lines)
    width = max((len(line.promise) for line in found), default=0)
    shown: list[str] = []
    for line in found:
        judged_by = "; ".join(part for part in (line.judged_by, line.measured) if part)
        shown.append(f"{line.state:<9}  {line.promise:<{width}}  {judged_by}".rstrip())
        shown += [f"           {failure.subject}: {failure.text}" for failure in line.failures]
    return visible_text("\n".join(shown))


def visible_text(text: str) -> str:
    """A terminal would act on control characters in a docstring or a pattern."""
    return "".join(char if char.isprintable() or char == "\n" else "·" for char in text)


def _heading(title: str) -> list[str]:
    return [title, "=" * len(title)]


def _job(job: JobDesign) -> Iterator[str]:
    yield job.name
    yield "-" * len(job.name)
    parts = [*design_parts(job), *contract_parts(job)]
    yield from _hanging((part.name, _cell(part)) for part in parts)


def _cell(part: Part) -> str:
    return f"{part.says}  {_named('measured', part.measured)}" if part.measured else part.says


def _chapter(chapter: Chapter) -> Iterator[str]:
    yield from _heading(chapter.title)
    yield from textwrap.wrap(chapter.intro, WIDTH)
    yield ""
    yield from _hanging((row[0], "  ".join(_others(chapter, row))) for row in chapter.rows)


def _others(chapter: Chapter, row: tuple[str, ...]) -> Iterator[str]:
    """The second cell as it is, the later ones with the name of their column."""
    yield row[1]
    for column, cell in zip(chapter.columns[2:], row[2:], strict=True):
        if cell:
            yield _named(column, cell)


def _named(column: str, cell: str) -> str:
    return f"[{cell}]" if cell == NOT_MEASURED else f"[{column}: {cell}]"


def _hanging(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A name and its text each; names that are too long for their column stand on a line of their own."""
    indent = " " * (NAME_WIDTH + 4)
    for name, text in pairs:
        if len(name) > NAME_WIDTH:
            yield from textwrap.wrap(name, WIDTH, initial_indent="  ", subsequent_indent="    ")
            name = ""
        yield from textwrap.wrap(text, WIDTH, initial_indent=f"  {name:<{NAME_WIDTH}}  ", subsequent_indent=indent)
