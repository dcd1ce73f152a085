"""Rows as CSV that people open in a spreadsheet, which must find no formula in what a job or a person wrote."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobops.contracts.error_text import storable_json, visible

# What a spreadsheet takes for a formula, in the first place or after blanks; the wide forms too.
_FORMULA = re.compile(r"\s*[=+\-@|%\uff1d\uff0b\uff0d\uff20]")


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A line of headings and one for each row; lists and objects as JSON."""
    writer = csv.writer(_Pass())
    yield str(writer.writerow(columns))
    for row in rows:
        yield str(writer.writerow([cell_of(row[column]) for column in columns]))


def cell_of(value: Any) -> Any:
    """The value as a cell, with an apostrophe before what would be calculated, and spelled out what cannot be seen."""
    if isinstance(value, (dict, list)):
        value = storable_json(json.dumps(value, ensure_ascii=False, default=str))
    elif isinstance(value, str):
        value = visible(value)
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


class _Pass:
    """A file for the csv writer, which answers what is written to it."""

    def write(self, text: str) -> str:
        return text
