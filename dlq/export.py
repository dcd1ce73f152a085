"""Dead letters as rows of text and numbers: for lists that scripts read, and for taking them elsewhere.

What is secret is masked, whoever asks: a file goes further than a page.
"""

import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from dlq.models import DeadLetter
from dlq.payloads import Shown
from jobops.contracts.error_text import storable_json
from jobops.spreadsheets import csv_lines

CHUNK = 500
COLUMNS = (
    "id", "tenant", "job", "queue", "state", "reason", "error_class", "error", "owner", "assignee", "due_at", "dead_at",
    "attempts", "replays", "job_id", "arguments", "max_attempts", "enqueued_at", "last_died_at", "replay_job_id",
    "note", "discard_reason", "drained_by", "drained_at", "correlation_id", "key", "batch", "progress", "checkpoint",
    "checkpoint_at",
)  # fmt: skip
_LONG = ("traceback", "history", "payload_raw")


def row_of(letter: DeadLetter) -> dict[str, Any]:
    """The letter as lists show it; the keys that scripts rely on."""
    return _row(letter, Shown(letter))


def rows(letters: QuerySet[DeadLetter]) -> Generator[dict[str, Any]]:
    """Every letter in the order of their ids, with its arguments and what became of it; read piece by piece."""
    for letter in letters.select_related("assignee").defer(*_LONG).order_by("pk").iterator(chunk_size=CHUNK):
        shown = Shown(letter)
        yield _row(letter, shown) | {
            "arguments": shown.arguments(),
            "max_attempts": letter.max_attempts,
            "enqueued_at": instant(letter.enqueued_at),
            "last_died_at": instant(letter.last_died_at),
            "replay_job_id": letter.replay_job_id,
            "note": letter.note,
            "discard_reason": letter.discard_reason,
            "drained_by": letter.drained_by,
            "drained_at": instant(letter.drained_at),
            "correlation_id": letter.correlation_id,
            "key": letter.key,
            **position_of(letter, shown),
        }


def position_of(letter: DeadLetter, shown: Shown) -> dict[str, Any]:
    """How far it got, and as part of what. ``progress``: done and total, or None."""
    told = letter.progress_total is not None
    progress = {"done": letter.progress_done, "total": letter.progress_total} if told else None
    return {
        "batch": letter.batch,
        "progress": progress,
        "checkpoint": shown.checkpoint(),
        "checkpoint_at": instant(letter.checkpoint_at),
    }


def as_jsonl(made: Iterable[dict[str, Any]]) -> Iterator[str]:
    """One JSON object a line."""
    for row in made:
        yield storable_json(json.dumps(row, ensure_ascii=False, default=str)) + "\n"


def as_csv(made: Iterable[dict[str, Any]], columns: Sequence[str] = COLUMNS) -> Iterator[str]:
    """A line of headings and one for each row, in which no spreadsheet finds a formula."""
    return csv_lines(columns, made)


FORMATS = {"jsonl": as_jsonl, "csv": as_csv}


def instant(value: datetime | None) -> str | None:
    """ISO 8601 in UTC to the millisecond; None for none."""
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z") if value is not None else None


def _row(letter: DeadLetter, shown: Shown) -> dict[str, Any]:
    return {
        "id": letter.pk,
        "tenant": letter.tenant_slug,
        "job": letter.job_type,
        "queue": letter.queue,
        "state": letter.state,
        "reason": letter.reason,
        "error_class": letter.error_class,
        "error": shown.error,
        "owner": letter.owner,
        "assignee": letter.assignee.get_username() if letter.assignee is not None else None,
        "due_at": instant(letter.due_at),
        "dead_at": instant(letter.dead_at),
        "attempts": letter.attempts,
        "replays": letter.replays,
        "job_id": letter.job_id,
    }
