"""The filters of ``manage.py dlq``, and the letters that are named one by one."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Any

from django.db.models import QuerySet

from dlq.access import MAX_ID
from dlq.asking import ME, NOBODY, numbers_in
from dlq.drained_in import WANTED, drained_in
from dlq.filters import ALL_STATUS, LONGEST_VALUE, STATUSES, LetterFilter
from dlq.models import DeadLetter, DeadLetterGroup, Reason, Severity
from dlq.people import person_named
from dlq.selectors import letter_of_job
from jobops.management.base import Refused, unknown_tenant
from jobops.management.option_types import duration
from tenants.models import Tenant

CHUNK = 500
NAMES = (
    "tenant", "job", "owner", "assignee", "severity", "group", "status", "reason", "error", "older_than", "overdue",
    "drained", "q",
)  # fmt: skip


def add_filters(parser: ArgumentParser, status: str) -> None:
    """Options that say which letters are meant; ``status``: which are, unless it is asked for."""
    parser.add_argument("--tenant", type=_value, metavar="SLUG", help="only this tenant's")
    parser.add_argument("--job", type=_value, metavar="NAME", help="only of this job type")
    parser.add_argument("--owner", type=_value, metavar="TEAM", help="only this team's, or these teams', with commas")
    parser.add_argument("--assignee", type=_assignee, metavar="LOGIN|none", help="only with this person, or nobody")
    parser.add_argument("--severity", choices=Severity.values, help="only of this severity")
    parser.add_argument("--group", type=_groups, metavar="NUMBER", help="only of this cause, or these, with commas")
    parser.add_argument("--status", "--state", choices=list(STATUSES), help=f"in this state (default {status})")
    parser.add_argument("--died-of", dest="reason_filter", choices=Reason.values, help="only of this reason")
    parser.add_argument("--error", type=_value, metavar="CLASS", help="only of this class, whole or its last part")
    parser.add_argument("--older-than", type=duration, metavar="AGE", help="only dead for so long, such as 2h or 3d")
    parser.add_argument("--overdue", action="store_true", default=None, help="only those not drained by their due time")
    parser.add_argument("--drained", type=_drained, metavar="TIME", help=f"only drained in this time: {WANTED}")
    parser.add_argument("--search", dest="q", type=_value, metavar="WORDS", help="only those in which all words occur")


def asked(options: dict[str, Any]) -> dict[str, Any]:
    """What of the filters was given."""
    named = options | {"reason": options.get("reason_filter")}
    return {name: named[name] for name in NAMES if named.get(name) is not None}


def filter_of(options: dict[str, Any], **defaults: Any) -> LetterFilter:
    """The filter that the options ask for. Raises ``Refused`` for a tenant, a person or a cause that never was."""
    given = asked(options)
    # Of those that are to be drained, which are meant unless something else is said, none is drained.
    drained = {"status": ALL_STATUS} if "drained" in given else {}
    # No page waits for it: what a command searches, it searches in all letters.
    wanted = LetterFilter(**({"deep": "q" in given} | drained | defaults | given))
    # A deleted tenant's letters are listed by the slug it had.
    slug = wanted.tenant
    if slug and not (Tenant.objects.filter(slug=slug).exists() or DeadLetter.objects.filter(tenant_slug=slug).exists()):
        raise unknown_tenant("--tenant", slug)
    if wanted.assignee not in ("", NOBODY) and person_named(wanted.assignee) is None:
        raise Refused(f"--assignee: there is no account {wanted.assignee!r}")
    for number in numbers_in(wanted.group) if wanted.group else []:
        if not DeadLetterGroup.objects.filter(pk=number).exists():
            raise Refused(f"--group: there is no cause {number}; see `manage.py dlq groups`")
    return wanted


def in_order(wanted: LetterFilter, letters: QuerySet[DeadLetter], limit: int | None) -> Iterator[DeadLetter]:
    """The letters that are meant, at most ``limit`` of them, in the filter's order; read piece by piece."""
    letters = letters.select_related("assignee")
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


def _assignee(text: str) -> str:
    if _value(text) == ME:
        raise ArgumentTypeError('a command has no "me": give a login')
    return text


def _groups(text: str) -> str:
    try:
        return ",".join(str(number) for number in numbers_in(text))
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} {error}") from error


def _drained(text: str) -> str:
    try:
        return drained_in(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r}: {error}") from error
