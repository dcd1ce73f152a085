"""What the commands share: exit codes (0 done, 1 refused or failed, 2 wrong usage), one line on stderr, JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from jobops.embedded import advice
from jobops.engine.errors import EngineError

# Undefined table, undefined column.
_MISSING_STATES = ("42P01", "42703")
_MISSING_WORDS = ("no such table", "no such column")


class Refused(CommandError):
    """It could not be done; exit code 1."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()), returncode=1)


class Usage(CommandError):
    """The command was called wrongly; exit code 2."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()), returncode=2)


class OperatorCommand(BaseCommand):
    """A command whose known failures become one clear line. Subclasses write ``run`` instead of ``handle``."""

    # Operators need these commands most when something is misconfigured; `manage.py check` is where faults are told.
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Adds ``--json``; subclasses add theirs after calling this."""
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run, and turn what can go wrong outside of the command into ``Refused``."""
        try:
            self.run(options)
        except EngineError as error:
            raise Refused(str(error)) from error
        except RedisConnectionError as error:
            raise Refused(advice(settings.JOBOPS_REDIS_URL)) from error
        except RedisError as error:
            raise Refused(f"Redis: {type(error).__name__}: {error}") from error
        except DatabaseError as error:
            raise Refused(_unmigrated(error) or f"database: {type(error).__name__}: {error}") from error

    def run(self, options: dict[str, Any]) -> None:
        """Do the command's work."""
        raise NotImplementedError

    def print_json(self, document: Any) -> None:
        """Print one JSON document; times as ISO 8601 in UTC."""
        self.stdout.write(json.dumps(document, default=_plain, ensure_ascii=False))

    def print_table(self, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], empty: str) -> None:
        """Print rows under headings, or the line ``empty`` when there are none."""
        if not rows:
            self.stdout.write(empty)
            return
        cells = [[heading.replace("_", " ") for heading in columns]]
        cells += [[_cell(row[column]) for column in columns] for row in rows]
        widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
        for line in cells:
            self.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _unmigrated(error: DatabaseError) -> str:
    """What to do, if a table or column is missing; empty for any other error."""
    state = getattr(error.__cause__, "sqlstate", None)  # PostgreSQL's; SQLite has words only
    if state not in _MISSING_STATES and not str(error).startswith(_MISSING_WORDS):
        return ""
    try:
        is_empty = not MigrationRecorder(connection).has_table()
    except DatabaseError:
        return ""
    if is_empty:
        return "the database has no tables yet: run `manage.py migrate`"
    return f"the database is not migrated to this version: run `manage.py migrate` ({error})"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    return str(value)


def iso(value: datetime | None) -> str | None:
    """ISO 8601 in UTC, ``None`` for none."""
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z") if value is not None else None


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1f}" if value != int(value) else str(int(value))
    # A terminal would act on control characters in what a job says.
    text = "".join(char if char.isprintable() else "·" for char in str(value))
    return text if len(text) <= 60 else text[:59] + "…"
