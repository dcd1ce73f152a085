"""What the commands share: exit codes (0 done, 1 refused or failed, 2 wrong usage), one line on stderr, JSON."""

from __future__ import annotations

import argparse
import errno
import getpass
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from jobops.audit import recording
from jobops.contracts.error_text import storable_json
from jobops.embedded import advice, silence
from jobops.engine.errors import EngineError
from jobops.management.output import spell_out

# Undefined table, undefined column.
_MISSING_STATES = ("42P01", "42703")
_OUTPUT_FAULTS = (errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EFBIG, errno.EDQUOT)
_MISSING_WORDS = ("no such table", "no such column")


class _OneLine(CommandError):
    """The end of a command that did not do what it was for; the name of the class stands before the message."""

    code = 1

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()), returncode=self.code)


class Refused(_OneLine):
    """It could not be done; exit code 1."""


class Found(_OneLine):
    """It looked, and something is not as it must be; exit code 1."""


class Stopped(_OneLine):
    """It was stopped midway; exit code 1."""


class Usage(_OneLine):
    """The command was called wrongly; exit code 2."""

    code = 2


class OneLineParser(CommandParser):
    """Wrong usage in one line, and values that begin with a minus and a digit, such as ``--run-after -5s``."""

    def error(self, message: str) -> NoReturn:
        """Exit code 2, also where Django would answer 1 to ``call_command``."""
        line = " ".join(f"{self.prog}: {message}; see `{self.prog} --help`".split())
        if self.called_from_command_line:
            self.exit(2, f"{line}\n")
        raise Usage(line)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse. argparse takes ``-5s`` for an option that does not exist, not for the value of the one before it."""
        joined: list[str] = []
        for arg in sys.argv[1:] if args is None else args:
            if joined and re.match(r"-\d", str(arg)) and re.fullmatch(r"--[a-z-]+", str(joined[-1])):
                joined[-1] = f"{joined[-1]}={arg}"
            else:
                joined.append(arg)
        return super().parse_args(joined, namespace)


class OneLineCommand(BaseCommand):
    """A command that answers wrong usage with one line."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Django's parser, which comes in one class only, made one of ours with all that hang from it."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        _in_one_line(parser)
        return parser


class OperatorCommand(OneLineCommand):
    """A command whose known failures become one clear line. Subclasses write ``run`` instead of ``handle``."""

    keeps_running = False
    """Whether it works until it is stopped, so that its log is what people see of it."""

    # Operators need these commands most when something is misconfigured; `manage.py check` is where faults are told.
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Adds ``--json``; subclasses add theirs after calling this."""
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run, and turn what can go wrong outside of the command into ``Refused``."""
        spell_out(self.stdout)
        if self._from_command_line() and not self.keeps_running:
            for name in ("", "django"):
                logging.getLogger(name).setLevel(settings.JOBOPS_COMMAND_LOG_LEVEL)
        try:
            self._run(options)
            self.stdout.flush()  # at the interpreter's end nobody could tell in one line what is wrong with it
        except EngineError as error:
            raise Refused(str(error)) from error
        except RedisConnectionError as error:
            raise Refused(advice(settings.JOBOPS_REDIS_URL)) from error
        except RedisTimeoutError as error:
            raise Refused(silence(settings.JOBOPS_REDIS_URL)) from error
        except RedisError as error:
            raise Refused(f"Redis: {type(error).__name__}: {error}") from error
        except DatabaseError as error:
            raise Refused(_unmigrated(error) or f"database: {type(error).__name__}: {error}") from error
        except OSError as error:
            if error.errno not in _OUTPUT_FAULTS or error.filename is not None:
                raise
            self._give_up_output(error)

    def run(self, options: dict[str, Any]) -> None:
        """Do the command's work."""
        raise NotImplementedError

    def _run(self, options: dict[str, Any]) -> None:
        """All that one command changes carries one id in the audit. One that works for ever does many things."""
        if self.keeps_running:
            self.run(options)
            return
        with recording.request(recording.current_request_id()):
            self.run(options)

    def _from_command_line(self) -> bool:
        return bool(getattr(self, "_called_from_command_line", False))

    def _give_up_output(self, error: OSError) -> NoReturn:
        """What was printed cannot be written. A reader that went away, such as ``head``, has had enough: no line."""
        if self._from_command_line():
            # What is still in the buffer would fail once more at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(1)
        raise Refused(f"the output cannot be written: {error.strerror}") from error

    def print_json(self, document: Any) -> None:
        """Print one JSON document; times as ISO 8601 in UTC."""
        self.stdout.write(storable_json(json.dumps(document, default=_plain, ensure_ascii=False)))

    def print_table(self, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], empty: str) -> None:
        """Print rows under headings, or the line ``empty`` when there are none."""
        if not rows:
            self.stdout.write(empty)
            return
        for line in table_lines(columns, rows):
            self.stdout.write(line)


def table_lines(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The rows under their headings, each column as wide as its widest cell."""
    cells = [[heading.replace("_", " ") for heading in columns]]
    cells += [[_cell(row[column]) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def command_actor() -> str:
    """Who acts, for records, when a command does: ``command:<login>``."""
    try:
        return f"command:{getpass.getuser()}"
    except (KeyError, OSError):  # a container's user without a name
        return f"command:{os.getuid()}"


def unknown_tenant(option: str, slug: str) -> Refused:
    """The refusal of a slug that no tenant has; ``option``: where it was typed."""
    return Refused(f"{option}: {slug!r} is not known; `manage.py tenants list` shows those there are")


def whole(minimum: int, maximum: int) -> Callable[[str], int]:
    """The ``type`` of an option that takes a whole number between the bounds, both included."""

    def read(text: str) -> int:
        if text.isascii() and text.isdigit() and minimum <= int(text[:20]) <= maximum:
            return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from {minimum} to {maximum}")

    return read


def take_for_granted(parser: CommandParser, action: str, of: CommandParser) -> None:
    """Have the command do ``action``, whose parser is ``of``, as without options, if it is given none. Call it last."""
    parser.set_defaults(action=action)
    parser.set_defaults(**{each.dest: each.default for each in of._actions if each.default != argparse.SUPPRESS})


def _in_one_line(parser: argparse.ArgumentParser) -> None:
    if isinstance(parser, CommandParser):
        parser.__class__ = OneLineParser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _in_one_line(each)


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
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1f}" if value != int(value) else str(int(value))
    # A terminal would act on control characters in what a job says.
    text = "".join(char if char.isprintable() else "·" for char in str(value))
    return text if len(text) <= 60 else text[:59] + "…"
