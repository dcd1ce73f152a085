"""``manage.py dlq import-rq``: take over the failed jobs of another RQ installation."""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentTypeError, _SubParsersAction
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandParser
from django.db import close_old_connections
from redis.exceptions import RedisError

from dlq.foreign.importing import Seen, take_over
from dlq.foreign.scripts import Commands
from dlq.foreign.sources import SETTING, Source, SourceError, sources, typed_source
from dlq.foreign.wish import Report, Wish
from dlq.inserting import AWAY
from dlq.owners.names import known_owners
from jobops.audit import recording
from jobops.contracts import durations
from jobops.engine.link import Backoff
from jobops.management.base import OperatorCommand, Refused, Usage, command_actor, unknown_tenant
from tenants.models import Tenant

ACTION = "import-rq"
MOST_LISTED = 20


def add_import(actions: _SubParsersAction[Any], add_common: Callable[[CommandParser], None]) -> None:
    """Add the sub-command; ``add_common`` adds what all have."""
    parser = actions.add_parser(
        ACTION,
        help="take over the failed jobs of another RQ or django-rq installation",
        description="Makes a dead letter of each job in its registries of failed jobs, once, and takes it out there.",
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--source", metavar="NAME", help=f"one that {SETTING} names")
    where.add_argument("--url", metavar="URL", help="redis://…; to replay what comes from it, it must be a source too")
    parser.add_argument("--queue", action="append", default=[], metavar="QUEUE", help="only this one; may be repeated")
    parser.add_argument("--tenant", metavar="SLUG", help="whose they are; without it they are no tenant's")
    parser.add_argument("--owner", metavar="TEAM", help="the team they go to, whatever the rules say")
    parser.add_argument("--leave", action="store_true", help="take nothing out of the registries there")
    parser.add_argument("--dry-run", action="store_true", help="tell what would be taken over, and do nothing")
    parser.add_argument("--follow", action="store_true", help="go on until it is stopped, also through outages")
    parser.add_argument("--every", type=_seconds, default=5.0, metavar="TIME", help="with --follow, how often: 5s")
    add_common(parser)


def run_import(command: OperatorCommand, options: dict[str, Any]) -> None:
    """Take over, and print how many."""
    if options["follow"] and options["dry_run"]:
        raise Usage(f"dlq {ACTION}: --dry-run looks once; give it without --follow")
    wish = _wish(options)
    if options["follow"]:
        _follow(command, wish, options)
        return
    try:
        with wish.source.connect() as client:
            report = _all(Commands(client, wish.source.prefix), wish)
    except SourceError as error:
        raise Refused(str(error)) from error
    except RedisError as error:
        raise Refused(str(wish.source.silent(error))) from error
    if options["as_json"]:
        command.print_json(_document(wish, report))
    else:
        for line in _lines(wish, report):
            command.stdout.write(line)


def _wish(options: dict[str, Any]) -> Wish:
    tenant = None
    if options["tenant"]:
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            raise unknown_tenant("--tenant", options["tenant"])
    owner = (options["owner"] or "").strip()
    if owner and owner not in (known := known_owners()):
        raise Refused(f"--owner: no team is called {owner!r}; those are {', '.join(sorted(known))}")
    return Wish(
        source=_source(options),
        by=command_actor(),
        queues=tuple(dict.fromkeys(options["queue"])),
        tenant=tenant,
        owner=owner,
        leave=options["leave"],
        dry_run=options["dry_run"],
    )


def _source(options: dict[str, Any]) -> Source:
    if options["url"] is not None:
        return typed_source(options["url"])
    known = sources()
    if options["source"] not in known:
        names = ", ".join(sorted(known)) or "none"
        raise Refused(f"--source: {SETTING} names no {options['source']!r}; it names {names}")
    return known[options["source"]]


def _all(commands: Commands, wish: Wish) -> Report:
    """Pass after pass, until one finds nothing to do: others may take failures out at the same time."""
    seen = Seen()
    found = total = take_over(commands, wish, seen=seen)
    if wish.dry_run:
        return total
    while found.imported or found.again or found.removed:
        found = take_over(commands, wish, thorough=False, seen=seen)
        _add(total, found)
    return total


def _add(total: Report, found: Report) -> None:
    total.imported += found.imported
    total.again += found.again
    total.removed += found.removed
    total.queues += found.queues
    total.errors += found.errors


def _follow(command: OperatorCommand, wish: Wish, options: dict[str, Any]) -> None:
    total, seen, pauses, thorough, is_away = Report(), Seen(), Backoff(first=0.5, cap=30.0), True, False
    with _stopped_by_signals() as stop:
        while not stop.is_set():
            found = Report()
            error = _one_pass(wish, found, seen, stop, thorough=thorough)
            _add(total, found)
            if found.imported or found.again:
                _say(command, wish, found, options)
            if bool(error) != is_away:
                command.stderr.write(error or "both answer again")
            is_away = bool(error)
            if error:
                stop.wait(pauses.next())
                continue
            thorough = False
            pauses.reset()
            stop.wait(options["every"])
    _say(command, wish, total, options)


def _one_pass(wish: Wish, found: Report, seen: Seen, stop: threading.Event, *, thorough: bool) -> str:
    """One pass; answers who does not answer, empty if both did."""
    try:
        close_old_connections()
        with recording.request(), wish.source.connect() as client:
            commands = Commands(client, wish.source.prefix)
            take_over(commands, wish, report=found, thorough=thorough, seen=seen, stopping=stop.is_set)
    except SourceError as error:
        raise Refused(str(error)) from error
    except (RedisError, *AWAY) as error:
        return _away(wish, error)
    return ""


def _say(command: OperatorCommand, wish: Wish, report: Report, options: dict[str, Any]) -> None:
    if options["as_json"]:
        command.print_json(_document(wish, report))
    else:
        command.stdout.write(next(_lines(wish, report)))
    command.stdout.flush()


def _away(wish: Wish, error: Exception) -> str:
    if isinstance(error, RedisError):
        return f"{wish.source.silent(error)}; it is tried again"
    return f"the database does not answer ({type(error).__name__}); it is tried again"


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, so that what is under way is ended in good order."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _document(wish: Wish, report: Report) -> dict[str, Any]:
    return {
        "source": wish.source.name,
        "dry_run": wish.dry_run,
        "imported": report.imported,
        "again": report.again,
        "known": report.known,
        "removed": report.removed,
        "skipped": sum(report.skipped.values()),
        "skipped_for": dict(report.skipped),
        "queues": dict(report.queues.most_common()),
        "errors": dict(report.errors.most_common()),
    }


def _lines(wish: Wish, report: Report) -> Iterator[str]:
    done = "would be taken over" if wish.dry_run else "taken over"
    head = f"{report.imported:,} {done} from {wish.source.name}"
    if report.again:
        head += f", {report.again:,} failed again and their letters say so"
    if report.known:
        head += f", {report.known:,} known already"
    if report.skipped:
        reasons = "; ".join(f"{why} ({count:,})" for why, count in report.skipped.most_common())
        head += f", {sum(report.skipped.values()):,} left alone: {reasons}"
    yield head
    for title, counts in (("queue", report.queues), ("error", report.errors)):
        for name, count in counts.most_common(MOST_LISTED):
            yield f"  {title} {name}: {count:,}"
        if len(counts) > MOST_LISTED:
            yield f"  and {len(counts) - MOST_LISTED:,} more"
    if wish.source.name not in sources():
        yield f"To replay them, add {wish.source.name}={wish.source.shown_url} to {SETTING}, with its password."


def _seconds(text: str) -> float:
    try:
        found = durations.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no time: write it like 5s") from error
    seconds = found.total_seconds()
    if not 0.1 <= seconds <= 3600:
        raise ArgumentTypeError(f"{text!r} must be from 0.1s to 1h")
    return seconds
