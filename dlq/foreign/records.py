"""A failed job's record as RQ keeps it: bytes, of which only what is plain text is looked at. Pure."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from dlq.foreign.scripts import Entry
from dlq.text import visible
from jobops.engine.jobs import inflate

TEXT_LIMIT = 1024 * 1024
"""Characters of a stored exception that are read."""
DATA_LIMIT = 4 * 1024 * 1024
USUAL_FAILURE_TTL_S = 31_536_000
"""RQ's own default: how long after a failure its registry forgets it."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Record(NamedTuple):
    """One failure. ``fields``: the job's hash; ``result``: the newest of its results."""

    rq_id: str
    queue: str
    score: bytes
    fields: Mapping[bytes, bytes]
    result: Mapping[bytes, bytes]
    result_id: bytes

    @property
    def is_own(self) -> bool:
        """Whether it is a job of this system, which keeps its records in RQ's format."""
        return any(name.startswith(b"jo_") for name in self.fields)

    @property
    def failed_at(self) -> datetime:
        """When it failed; of one failure the same whenever it is asked."""
        ended = instant(self.fields.get(b"ended_at", b""))
        return ended or self._told_at() or self._by_score() or EPOCH

    @property
    def failure(self) -> tuple[bytes, bytes, bytes]:
        """What tells this failure from a later one of the same job, for its source."""
        return self.rq_id.encode(), self.score, self.fields.get(b"ended_at", b"")

    def text(self, name: str) -> str:
        """A field as text; empty if it is not there."""
        return visible(self.fields.get(name.encode(), b""))

    def number(self, name: str) -> int:
        """A field that is a number; 0 if it is none."""
        raw = self.fields.get(name.encode(), b"")
        return int(raw) if raw.isdigit() and len(raw) < 10 else 0

    def exception(self) -> str:
        """What is stored of its exception; empty if there is nothing readable."""
        newest = self.result.get(b"exc_string", b"")
        if newest:
            try:
                return _plain(base64.b64decode(newest, validate=True))
            except (binascii.Error, ValueError):
                return ""
        return _plain(self.fields.get(b"exc_info", b""))

    def data(self) -> bytes:
        """What its serializer made of function and arguments."""
        return inflate(self.fields.get(b"data", b""), DATA_LIMIT)

    def _told_at(self) -> datetime | None:
        ms = self.result_id.partition(b"-")[0]
        return EPOCH + timedelta(milliseconds=int(ms)) if ms.isdigit() and len(ms) < 15 else None

    def _by_score(self) -> datetime | None:
        ttl = self.number("failure_ttl") or USUAL_FAILURE_TTL_S
        try:
            return EPOCH + timedelta(seconds=float(self.score) - ttl)
        except (ValueError, OverflowError):
            return None


def record_of(entry: Entry, queue: str) -> Record | None:
    """The record of what was read; None of an id that no database takes as text."""
    try:
        rq_id = entry.rq_id.decode()
    except UnicodeDecodeError:
        return None
    if not (0 < len(rq_id) <= 255 and rq_id.isprintable()):
        return None
    return Record(rq_id, queue, entry.score, entry.fields, entry.result, entry.result_id)


def packed(fields: Mapping[bytes, bytes]) -> bytes:
    """All fields as one piece."""
    pairs = [[base64.b64encode(part).decode() for part in pair] for pair in sorted(fields.items())]
    return zlib.compress(json.dumps(pairs).encode())


def unpacked(record: bytes) -> dict[bytes, bytes]:
    """What ``packed`` made. Raises ``ValueError`` for anything else."""
    try:
        pairs = json.loads(zlib.decompress(record))
        return {base64.b64decode(name): base64.b64decode(value) for name, value in pairs}
    except (zlib.error, TypeError) as error:
        raise ValueError("this is no stored record") from error


def instant(raw: bytes) -> datetime | None:
    """A time as RQ writes it, in UTC; None for what is none."""
    try:
        read = datetime.fromisoformat(raw.decode().strip())
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _plain(raw: bytes) -> str:
    return visible(inflate(raw, TEXT_LIMIT)[:TEXT_LIMIT])
