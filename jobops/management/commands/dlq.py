"""``manage.py dlq``: look at dead letters."""

import json
from argparse import ArgumentTypeError
from itertools import islice
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from dlq.access import MAX_ID
from dlq.models import UNDRAINED, DeadLetter, State
from dlq.payloads import shown_arguments, shown_error, shown_texts
from dlq.selectors import letter_of_job
from jobops.management.base import OperatorCommand, Refused, iso
from tenants.models import Tenant

COLUMNS = ("id", "tenant", "job", "state", "reason", "error_class", "owner", "due_at", "dead_at", "attempts")


class Command(OperatorCommand):
    """Exit codes: 0 done, 1 refused or failed, 2 wrong usage; one line on stderr says why."""

    help = "Lists dead letters, the newest death first unless --due is given, or shows one."

    def add_arguments(self, parser: CommandParser) -> None:
        """Sub-commands of the command."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="list|show")
        listing = actions.add_parser("list", help="dead letters, all unless filtered")
        listing.add_argument("--tenant", metavar="SLUG", help="only this tenant's")
        listing.add_argument("--job", metavar="NAME", help="only of this job type")
        listing.add_argument("--owner", metavar="TEAM", help="only this team's")
        listing.add_argument("--status", "--state", choices=State.values, help="only in this state")
        listing.add_argument("--overdue", action="store_true", help="only those not drained by their due time")
        listing.add_argument("--due", action="store_true", help="in the order of their due times, the first one first")
        listing.add_argument("--limit", type=_positive, metavar="N", help="at most so many")
        one = actions.add_parser("show", help="one letter with its arguments and every attempt")
        one.add_argument("id", metavar="NUMBER|JOB", help="a letter's number, or a job's id for its newest letter")
        for each in (listing, one):
            super().add_arguments(each)

    def run(self, options: dict[str, Any]) -> None:
        """Do the sub-command."""
        if options["action"] == "list":
            self._list(options)
        else:
            self._show(options)

    def _list(self, options: dict[str, Any]) -> None:
        fields = {"tenant": "tenant_slug", "job": "job_type", "owner": "owner", "status": "state"}
        wanted = {field: options[name] for name, field in fields.items() if options[name] is not None}
        letters = DeadLetter.objects.filter(**wanted).defer("payload_raw", "traceback", "history")
        if options["tenant"] is not None:
            _refuse_unknown(options["tenant"])
        if options["overdue"]:
            letters = letters.filter(state__in=UNDRAINED, due_at__lte=timezone.now())
        if options["due"]:
            letters = letters.order_by("due_at", "id")
        rows = [row_of(letter) for letter in islice(letters.iterator(), options["limit"])]
        if options["as_json"]:
            self.print_json(rows)
        else:
            self.print_table(COLUMNS, rows, "no dead letters")

    def _show(self, options: dict[str, Any]) -> None:
        letter = _letter(options["id"])
        texts = shown_texts(letter)
        shown = row_of(letter) | {
            "arguments": shown_arguments(letter),
            "traceback": texts.traceback,
            "history": texts.history,
            "max_attempts": letter.max_attempts,
            "enqueued_at": iso(letter.enqueued_at),
            "correlation_id": letter.correlation_id,
            "key": letter.key,
            "placeholder": letter.placeholder,
        }
        if options["as_json"]:
            self.print_json(shown)
            return
        for name, value in shown.items():
            # Stored text holds no control characters but tab and newline.
            text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
            self.stdout.write(f"{name:<15} {'-' if value in (None, '') else text}")


def _letter(wanted: str) -> DeadLetter:
    """The letter of this number or, else, the newest one of the job of this id."""
    letter = None
    if wanted.isascii() and wanted.isdigit() and int(wanted[:20]) <= MAX_ID:
        letter = DeadLetter.objects.filter(pk=int(wanted)).first()
    letter = letter or letter_of_job(wanted)
    if letter is None:
        raise Refused(f"dead letter {wanted!r}: there is none of this number or job; see `manage.py dlq list`")
    return letter


def _refuse_unknown(slug: str) -> None:
    # A deleted tenant's letters are listed by the slug it had.
    if not (Tenant.objects.filter(slug=slug).exists() or DeadLetter.objects.filter(tenant_slug=slug).exists()):
        raise Refused(f"tenant: {slug!r} is not known; `manage.py tenants list` shows those there are")


def row_of(letter: DeadLetter) -> dict[str, Any]:
    """A letter as ``list --json`` shows it, with what is secret masked."""
    return {
        "id": letter.pk,
        "tenant": letter.tenant_slug,
        "job": letter.job_type,
        "queue": letter.queue,
        "state": letter.state,
        "reason": letter.reason,
        "error_class": letter.error_class,
        "error": shown_error(letter),
        "owner": letter.owner,
        "assignee": None,
        "due_at": iso(letter.due_at),
        "dead_at": iso(letter.dead_at),
        "attempts": letter.attempts,
        "replays": 0,
        "job_id": letter.job_id,
    }


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) <= MAX_ID):
        raise ArgumentTypeError(f"{text!r} must be a whole number from 1")
    return int(text)
