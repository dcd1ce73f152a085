"""``manage.py dlq undo``: open discarded letters again, by name, by filters, or all of one discard."""

from __future__ import annotations

from argparse import _SubParsersAction
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser

from dlq.access import MAX_ID
from dlq.bulk import TICKED
from dlq.models import DeadLetter, State
from jobops.management.base import Usage, whole
from jobops.management.dlq_bulk import Report, perform, undo_discard
from jobops.management.dlq_filters import add_filters, asked, filter_of, letters_named


def add_undo(actions: _SubParsersAction[Any], add_common: Callable[[CommandParser], None]) -> None:
    """Add the sub-command; ``add_common`` adds what all have."""
    parser = actions.add_parser("undo", help="open discarded letters again, until retention purges them")
    parser.add_argument("ids", nargs="*", metavar="NUMBER|JOB", help="these letters; or give filters instead")
    add_filters(parser, "discarded")
    parser.add_argument("--all", action="store_true", help="all discarded letters; needed where nothing is filtered")
    parser.add_argument("--bulk", type=whole(1, MAX_ID), metavar="N", help="all that this discard of many closed")
    parser.add_argument("--dry-run", action="store_true", help="tell what would be done, and do nothing")
    add_common(parser)


def undo(options: dict[str, Any]) -> Report:
    """Open again what is named, filtered, or of one discard. Raises ``Usage`` and ``Refused``."""
    given = asked(options)
    ways = [bool(options["ids"]), bool(given) or options["all"], options["bulk"] is not None]
    if sum(ways) != 1:
        wrong = "give only one of them:" if any(ways) else "which ones?"
        raise Usage(f"dlq undo: {wrong} letters by name, filters (or --all), or --bulk with the number of a discard")
    if options["bulk"] is not None:
        if options["dry_run"]:
            raise Usage("dlq undo --bulk: has no --dry-run")
        return undo_discard(options["bulk"])
    if options["ids"]:
        return perform("undo", letters_named(options["ids"]), chosen=TICKED, dry_run=options["dry_run"])
    wanted = filter_of(options, status=State.DISCARDED.value)
    letters = wanted.apply(DeadLetter.objects.all())
    return perform("undo", letters, chosen=wanted.as_query(), dry_run=options["dry_run"])
