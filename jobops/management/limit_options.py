"""What the commands of pauses and limits share: naming a target, and telling what a change did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandParser

from jobops.limits.errors import InvalidLimit, LimitError
from jobops.limits.services import Change
from jobops.limits.targets import EVERYTHING, Target, find
from jobops.management.base import Refused, Usage

OPTIONS = {"concurrency": "--concurrency", "rate": "--rate", "reason": "--reason", "name": "NAME"}
"""Where a field was typed."""


def add_target(parser: CommandParser, *, everything: bool = False) -> None:
    """The options that name a job type or a resource; with ``everything``, also all at once."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a job type or a resource, where only one is called so")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--job", metavar="NAME", help="this job type")
    which.add_argument("--resource", metavar="NAME", help="this resource")
    if everything:
        which.add_argument("--all", action="store_true", help="everything, of all tenants")


def target_of(options: dict[str, Any], command: str) -> Target:
    """What was named. Raises Usage unless exactly one thing was, and Refused for a name that is not known."""
    named = [name for name in ("name", "job", "resource", "all") if options.get(name)]
    choice = "--job NAME, --resource NAME or --all" if "all" in options else "--job NAME or --resource NAME"
    if len(named) != 1:
        raise Usage(f"{command}: name one thing: NAME, {choice}")
    if options.get("all"):
        return EVERYTHING
    with refusals(option="NAME" if named[0] == "name" else f"--{named[0]}"):
        kinds = {"job": "type", "resource": "resource"}
        return find(options[named[0]], kinds.get(named[0]))  # type: ignore[arg-type]


@contextmanager
def refusals(option: str = "NAME") -> Iterator[None]:
    """Turns what limits refuse into one line that names the option. ``option``: where the name was typed."""
    try:
        yield
    except InvalidLimit as error:
        field = option if error.field == "name" else OPTIONS.get(error.field, error.field)
        raise Refused(f"{field}: {error.problem}") from error
    except LimitError as error:
        raise Refused(str(error)) from error


def check_in_force(change: Change, done: str) -> None:
    """Raises Refused unless Redis obeys: who pauses relies on it."""
    if not change.in_force:
        raise Refused(f"{change.target} is marked {done}, but not in force yet: {change.problem}")
