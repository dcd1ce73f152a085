"""``manage.py jobs``: list, show, cancel and unpark single jobs."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from dlq.own_errors import OWN_ERRORS
from dlq.payloads import secrets_in
from dlq.selectors import letter_of_job
from jobops.contracts import masking, registry
from jobops.contracts.secret_values import Secrets
from jobops.engine.errors import InvalidJob
from jobops.engine.payload import decode, decode_result
from jobops.engine.records import JobView
from jobops.management.base import OperatorCommand, Refused, Usage, command_actor, iso, unknown_tenant, whole
from jobops.runtime import listing, lookup
from jobops.runtime.job_actions import job_cancel, job_cancel_by_key, job_unpark
from tenants.models import Tenant

MOST = 10_000
COLUMNS = ("id", "tenant", "job", "queue", "state", "attempts", "enqueued_at", "error")
_NOT_CANCELLABLE = {
    "not_found": "nothing is kept of it, or it never existed",
    "started": "it is running",
    "ended": "it has ended already",
}


class Command(OperatorCommand):
    help = "Lists jobs, shows one, cancels a waiting one, or sends a parked outbox row on its way again."

    def add_arguments(self, parser: CommandParser) -> None:
        """Sub-commands of the command."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="list|show|cancel|unpark")
        shown = actions.add_parser("list", help="jobs of a state (without --state: the live ones)")
        shown.add_argument("--tenant", metavar="SLUG", help="only this tenant's")
        shown.add_argument("--state", choices=listing.STATES, help="only jobs in this state")
        shown.add_argument("--limit", type=whole(1, MOST), default=50, metavar="N", help="at most so many (default 50)")
        one = actions.add_parser("show", help="one job")
        one.add_argument("id", metavar="ID")
        stop = actions.add_parser("cancel", help="end a waiting or delayed job before it runs")
        stop.add_argument("id", metavar="ID", nargs="?")
        stop.add_argument("--key", help="by key instead of id; needs --tenant and --job")
        stop.add_argument("--tenant", metavar="SLUG", help="of this tenant only")
        stop.add_argument("--job", help="name of the job type, with --key")
        again = actions.add_parser("unpark", help="push a parked outbox row again, at the risk of a second run")
        again.add_argument("id", metavar="ID")
        for each in (shown, one, stop, again):
            super().add_arguments(each)

    def run(self, options: dict[str, Any]) -> None:
        """Do the sub-command."""
        {"list": self._list, "show": self._show, "cancel": self._cancel, "unpark": self._unpark}[options["action"]](
            options
        )

    def _list(self, options: dict[str, Any]) -> None:
        tenant, state, limit = options["tenant"], options["state"], options["limit"]
        found = listing.jobs(tenant=tenant, state=state, limit=limit + 1)
        if not found and tenant is not None and not Tenant.objects.filter(slug=tenant).exists():
            raise unknown_tenant("--tenant", tenant)
        rows = [summary(job) for job in found[:limit]]
        if options["as_json"]:
            self.print_json(rows)
            return
        self.print_table(COLUMNS, rows, "no such jobs")
        if len(found) > limit:
            self.stdout.write(_cut(limit, listing.total(tenant=tenant, state=state)))

    def _show(self, options: dict[str, Any]) -> None:
        job = lookup(options["id"])
        if job is None:
            raise Refused(f"job {options['id']}: nothing is kept of it, or it never existed")
        shown = details(job)
        if options["as_json"]:
            self.print_json(shown)
            return
        for name, value in shown.items():
            text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
            self.stdout.write(f"{name:<15} {'-' if value is None else _printable(text)}")

    def _cancel(self, options: dict[str, Any]) -> None:
        by_key = options["key"] is not None
        if by_key == (options["id"] is not None):
            raise Usage("jobs cancel: give either an id, or --key with --tenant and --job")
        if by_key and not (options["tenant"] and options["job"]):
            raise Usage("jobs cancel --key: a key is one of a tenant and a job type; give --tenant and --job too")
        if by_key:
            known = registry.resolve(options["job"])
            job_type = known.name if known else options["job"]
            answer, job_id = job_cancel_by_key(
                tenant=options["tenant"], job_type=job_type, key=options["key"], by=command_actor()
            )
            what = f"key {options['key']!r} of {options['tenant']}"
        else:
            job_id, what = options["id"], f"job {options['id']}"
            answer = job_cancel(job_id=job_id, tenant=options["tenant"], by=command_actor())
        if answer != "cancelled":
            raise Refused(f"{what} cannot be cancelled: {_NOT_CANCELLABLE[answer]}")
        if options["as_json"]:
            self.print_json({"id": job_id, "state": answer})
        else:
            self.stdout.write(f"{job_id}  {answer}")

    def _unpark(self, options: dict[str, Any]) -> None:
        if not job_unpark(job_id=options["id"], by=command_actor()):
            raise Refused(f"job {options['id']} is not parked in the outbox")
        if options["as_json"]:
            self.print_json({"id": options["id"], "state": "outbox"})
        else:
            self.stdout.write(f"{options['id']}  outbox")


def _cut(limit: int, total: int | None) -> str:
    """The line under a list that does not show everything."""
    # Jobs come and go while they are counted.
    of = "many more" if total is None else f"{max(total, limit + 1):,}"
    more = "; --limit N shows more" if limit < MOST else ""
    return f"{limit:,} of {of}{more}"


def summary(job: JobView) -> dict[str, Any]:
    """A job as a row of a list, with what is secret masked."""
    return {
        "id": job.id,
        "tenant": job.tenant,
        "job": job.job_type,
        "queue": job.queue,
        "state": job.state,
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "enqueued_at": iso(job.enqueued_at),
        "due_at": iso(job.due_at),
        "started_at": iso(job.started_at),
        "ended_at": iso(job.ended_at),
        "error": _error(job),
    }


def details(job: JobView) -> dict[str, Any]:
    """All that scripts rely on of one job."""
    letter = letter_of_job(job.id)
    row = summary(job)
    row["result"] = _result(job)
    row["dead_letter"] = letter.pk if letter else None
    row["reason"] = job.reason or None
    row["key"] = job.key or None
    row["correlation_id"] = job.correlation_id or None
    row["worker"] = job.worker or None
    return row


def _error(job: JobView) -> str | None:
    error = job.error if job.error in OWN_ERRORS else masking.masked_text(job.error, _secrets(job))
    return ": ".join(part for part in (job.error_class, error) if part) or None


def _result(job: JobView) -> Any:
    """The result as JSON; what is not one of ours is shown as the text it is."""
    if not job.result:
        return None
    try:
        result = decode_result(job.result)
    except InvalidJob:
        result = job.result.decode(errors="backslashreplace")
    return masking.masked_value(result, _secrets(job))


def _secrets(job: JobView) -> Secrets:
    """What is secret of its arguments; when Redis has forgotten the job, its dead letter has them."""
    if not job.data:
        letter = letter_of_job(job.id) if job.state == "dead" or job.replay_of else None
        return secrets_in(letter.job_type, letter.payload) if letter else masking.UNKNOWN_SECRETS
    try:
        _name, args, kwargs = decode(job.data)
    except InvalidJob:
        return masking.UNKNOWN_SECRETS
    return masking.secrets_of(registry.resolve(job.job_type), args, kwargs)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "·" for char in text)
