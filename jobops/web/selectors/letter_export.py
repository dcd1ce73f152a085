"""Dead letters as a file: staff get every column; a tenant's people what their pages show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dlq.access import letters_visible_to
from dlq.errors import InvalidAction
from dlq.export import COLUMNS, as_csv, as_jsonl, rows
from dlq.filters import LetterFilter
from jobops.web.job_words import plain_name
from tenants.access import AnyUser, sees_all

OWN_COLUMNS = (
    "id",
    "tenant",
    "job",
    "state",
    "error",
    "arguments",
    "attempts",
    "replays",
    "dead_at",
    "due_at",
    "drained_at",
)
MEDIA = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson; charset=utf-8"}


def exported(user: AnyUser, asked: LetterFilter, kind: str) -> tuple[Iterator[str], str]:
    """The lines of the file, and its media type. Raises ``InvalidAction`` for a format that there is not."""
    if kind not in MEDIA:
        raise InvalidAction("format", f"the format must be one of {', '.join(MEDIA)}")
    made: Iterator[dict[str, Any]] = rows(asked.apply(letters_visible_to(user)))
    columns: Sequence[str] = COLUMNS
    if not sees_all(user):
        columns = OWN_COLUMNS
        made = (_own(row) for row in made)
    return (as_csv(made, columns) if kind == "csv" else as_jsonl(made)), MEDIA[kind]


def _own(row: dict[str, Any]) -> dict[str, Any]:
    return {column: row[column] for column in OWN_COLUMNS} | {"job": plain_name(row["job"])}
