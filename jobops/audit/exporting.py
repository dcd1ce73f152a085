"""The audit as lines: JSON, or CSV that no spreadsheet takes for formulas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Any

from jobops.audit.models import AuditEntry
from jobops.contracts.error_text import storable_json
from jobops.spreadsheets import csv_lines

COLUMNS = (
    "id", "at", "actor", "actor_kind", "action", "target_kind", "target_id", "tenant", "before", "after", "reason",
    "request_id",
)  # fmt: skip


def row_of(entry: AuditEntry) -> dict[str, Any]:
    """A row as scripts read it; the time as ISO 8601 in UTC."""
    return {
        "id": entry.pk,
        "at": entry.at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "actor": entry.actor,
        "actor_kind": entry.actor_kind,
        "action": entry.action,
        "target_kind": entry.target_kind,
        "target_id": entry.target_id,
        "tenant": entry.tenant_slug,
        "before": entry.before,
        "after": entry.after,
        "reason": entry.reason,
        "request_id": entry.request_id,
    }


def as_jsonl(entries: Iterable[AuditEntry]) -> Iterator[str]:
    """One JSON object a line."""
    for entry in entries:
        yield storable_json(json.dumps(row_of(entry), ensure_ascii=False)) + "\n"


def as_csv(entries: Iterable[AuditEntry]) -> Iterator[str]:
    """A heading, and a line for each; ``before`` and ``after`` as JSON."""
    return csv_lines(COLUMNS, map(row_of, entries))


FORMATS = {"jsonl": (as_jsonl, "application/x-ndjson"), "csv": (as_csv, "text/csv; charset=utf-8")}
