"""The database: how full its disk is, where that can be told, and how large it is."""

from __future__ import annotations

from collections.abc import Iterator

from jobops.alerts.signals.base import Reading, Signal
from jobops.alerts.sources import Sources

MIB = 1024 * 1024


def disk(sources: Sources) -> Iterator[Reading]:
    """Of a database in a file: a server's disk is on a host that we do not see."""
    used = sources.disk_used_percent
    if used is not None:
        title = f"The disk of the database is {used:.0f} % full: dead letters cannot be stored when it is"
        yield Reading("disk", used, title, path="/dlq/")


def size(sources: Sources) -> Iterator[Reading]:
    """How large it is; asked only where a rule sets a threshold, since a server has to add up its files."""
    if sources.limits.has_rule("database_size"):
        mib = sources.database_bytes / MIB
        yield Reading("database", mib, f"The database has grown to {mib:,.0f} MiB", path="/dlq/")


SIGNALS = (
    Signal(
        name="disk_full",
        title="The disk of the database is nearly full",
        unit="% full",
        threshold=90,
        clears_at=87,
        for_s=60,
        calm_s=300,
        severity="critical",
        about="The disk that an SQLite database is on. Of a server, set a threshold for database_size instead.",
        read=disk,
    ),
    Signal(
        name="database_size",
        title="The database is large",
        unit="MiB",
        threshold=None,
        clears_at=None,
        for_s=60,
        calm_s=600,
        severity="high",
        about="The size of the database; without a rule that says how large it may be, nobody looks.",
        read=size,
    ),
)
