"""One dead letter as ``manage.py dlq show`` tells it: everything for scripts, and what says something for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from dlq.export import instant, position_of, row_of
from dlq.models import DeadLetter
from dlq.payloads import Shown
from dlq.second_run import second_run
from dlq.text import visible
from jobops.management.base import table_lines

_AT_LENGTH = ("traceback", "history", "runs")
ATTEMPTS = ("n", "replay", "started_at", "ended_at", "outcome", "worker", "error")
RUNS = ("number", "state", "by", "started_at", "ended_at", "job_id", "note")


def details(letter: DeadLetter) -> dict[str, Any]:
    """All that scripts rely on of one letter, with what is secret masked; times in one form."""
    shown = Shown(letter)
    texts = shown.texts
    return row_of(letter) | {
        "arguments": shown.arguments(),
        "traceback": texts.traceback,
        "history": [_attempt(attempt) for attempt in texts.history],
        "max_attempts": letter.max_attempts,
        "enqueued_at": instant(letter.enqueued_at),
        "correlation_id": letter.correlation_id,
        "key": letter.key,
        **position_of(letter, shown),
        "placeholder": letter.placeholder,
        "second_run": second_run(letter).text,
        "note": letter.note,
        "last_died_at": instant(letter.last_died_at),
        "discard_reason": letter.discard_reason,
        "drained_by": letter.drained_by,
        "drained_at": instant(letter.drained_at),
        "runs": [
            {"number": run.number, "job_id": run.job_id, "state": run.state, "by": run.by, "note": run.note}
            | {"edited": bool(run.payload)}
            | {"started_at": instant(run.started_at), "ended_at": instant(run.ended_at)}
            for run in letter.runs.order_by("number")
        ],
    }


def told(shown: Mapping[str, Any]) -> Iterator[str]:
    """The same as lines: a field each, then the attempts and the replays as tables, then the traceback."""
    for name, value in shown.items():
        if name not in _AT_LENGTH and value not in (None, "", False):
            text = visible(value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False))
            yield f"{name:<15} {text}"
    attempts = [{**dict.fromkeys(ATTEMPTS), **attempt, "error": _error(attempt)} for attempt in shown["history"]]
    for heading, columns, rows in (("attempts", ATTEMPTS, attempts), ("replays", RUNS, shown["runs"])):
        if rows:
            full = [column for column in columns if any(row[column] not in (None, "") for row in rows)]
            yield f"\n{heading}"
            yield from table_lines(full, rows)
    if shown["traceback"]:
        yield f"\n{shown['traceback']}"


def _attempt(attempt: Mapping[str, Any]) -> dict[str, Any]:
    times = {name: _at(attempt[name]) for name in ("started_at", "ended_at") if name in attempt}
    return {**attempt, **times}


def _at(text: str | None) -> str | None:
    return instant(datetime.fromisoformat(text)) if text else None


def _error(attempt: Mapping[str, Any]) -> str:
    return ": ".join(part for part in (attempt.get("error_class"), attempt.get("error")) if part)
