"""The filters of ``manage.py dlq``, and the letters that are named one by one."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Sequence
from datetime import timedelta
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Any

from django.db.models import QuerySet

from dlq.access import MAX_ID
from dlq.filters import LONGEST_VALUE, STATUSES, LetterFilter
from dlq.models import DeadLetter, Reason
from dlq.selectors import letter_of_job
from jobops.contracts import durations
from jobops.management.base import Refused, unknown_tenant
from tenants.models import Tenant

CHUNK = 500
NAMES = ("tenant", "job", "owner", "status", "reason", "error", "older_than", "overdue", "q")


def add_filters(parser: ArgumentParser, status: str) -> None:
    """Options that say which letters are meant; ``status``: which are, unless it is asked for."""
    parser.add_argument("--tenant", type=_value, metavar="SLUG", help="only this tenant's")
    parser.add_argument("--job", type=_value, metavar="NAME", help="only of this job type")
    parser.add_argument("--owner", type=_value, metavar="TEAM", help="only this team's")
    parser.add_argument("--status", "--state", choices=list(STATUSES), help=f"in this state (default {status})")
    parser.add_argument("--died-of", dest="reason_filter", choices=Reason.values, help="only of this reason")
    parser.add_argument("--error", type=_value, metavar="CLASS", help="only of this class, whole or its last part")
    parser.add_argument("--older-than", type=_duration, metavar="AGE", help="only dead for so long, such as 2h or 3d")
    parser.add_argument("--overdue", action="store_true", default=None, help="only those not drained by their due time")
    parser.add_argument("--search", dest="q", type=_value, metavar="WORDS", help="only those in which all words occur")


def asked(options: dict[str, Any]) -> dict[str, Any]:
    """What of the filters was given."""
    named = options | {"reason": options.get("reason_filter")}
    return {name: named[name] for name in NAMES if named.get(name) is not None}


def filter_of(options: dict[str, Any], **defaults: Any) -> LetterFilter:
    """The filter that the options ask for. Raises ``Refused`` for a tenant that never was."""
    wanted = LetterFilter(**(defaults | asked(options)))
    # A deleted tenant's letters are listed by the slug it had.
    slug = wanted.tenant
    if slug and not (Tenant.objects.filter(slug=slug).exists() or DeadLetter.objects.filter(tenant_slug=slug).exists()):
        raise unknown_tenant("--tenant", slug)
    return wanted


def in_order(wanted: LetterFilter, letters: QuerySet[DeadLetter], limit: int | None) -> Iterator[DeadLetter]:
    """The letters that are meant, at most ``limit`` of them, in the filter's order; read piece by piece."""
    parts = [part.order_by(*wanted.order)[:limit].iterator(chunk_size=CHUNK) for part in wanted.parts(letters)]
    key, newest = (
        (attrgetter("dead_at", "pk"), True) if wanted.sort == "newest" else (attrgetter("due_at", "pk"), False)
    )
    return islice(merge(*parts, key=key, reverse=newest), limit)


def letter_named(wanted: str) -> DeadLetter:
    """The letter of this number or, else, the newest one of the job of this id. Raises ``Refused``."""
    letter = None
    if wanted.isascii() and wanted.isdigit() and int(wanted[:20]) <= MAX_ID:
        letter = DeadLetter.objects.filter(pk=int(wanted)).first()
    letter = letter or letter_of_job(wanted)
    if letter is None:
        raise Refused(f"dead letter {wanted!r}: there is none of this number or job; see `manage.py dlq list`")
    return letter


def letters_named(wanted: Sequence[str]) -> QuerySet[DeadLetter]:
    """These letters, each once. Raises ``Refused`` if one of them is not there: then none is touched."""
    return DeadLetter.objects.filter(pk__in={letter_named(each).pk for each in wanted})


def _value(text: str) -> str:
    if not text or len(text) > LONGEST_VALUE or not text.isprintable():
        raise ArgumentTypeError(f"{text!r} must be 1 to {LONGEST_VALUE} characters that can be seen")
    return text


def _duration(text: str) -> timedelta:
    try:
        return durations.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
