"""``manage.py jobs``: lists jobs, tells of single ones, and does to them what people may do."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from jobops.contracts import registry
from jobops.management.base import OperatorCommand, Refused, Usage, command_actor, iso, unknown_tenant, whole
from jobops.management.job_rows import answer, details, summary
from jobops.runtime import listing, lookup
from jobops.runtime.job_actions import job_cancel, job_cancel_by_key, job_run_now, job_stop, job_unpark
from jobops.runtime.why import why
from jobops.runtime.why_records import SINCE_WORDS, UNTIL_WORDS, Reason, at
from tenants.models import Tenant

MOST = 10_000
COLUMNS = ("id", "tenant", "job", "queue", "state", "attempts", "enqueued_at", "error")
_NOT_CANCELLABLE = {
    "not_found": "nothing is kept of it, or it never existed",
    "started": "it is running",
    "ended": "it has ended already; `manage.py jobs why {id}` tells how",
}
_NOT_STOPPABLE = {
    "not_found": "nothing is kept of it, or it never existed",
    "not_running": "it is not running; `manage.py jobs cancel {id}` ends one that waits",
    "outbox": "it waits in the outbox and is not running; `manage.py jobs cancel {id}` ends it",
    "ended": "it has ended already; `manage.py jobs why {id}` tells how",
    "last_attempt": "this is its last attempt, after which it cannot run again; without --retry it ends",
    "tenant_gone": "its tenant was deleted, and it cannot run again; without --retry it ends",
}
_NOT_BEFORE_TIME = {
    "not_found": "nothing is kept of it, or it never existed",
    "ended": "it has ended already; `manage.py jobs why {id}` tells how",
    "not_scheduled": "it is neither delayed nor backing off; `manage.py jobs why {id}` tells what it waits for",
}
_NOTHING_KEPT = (
    "nothing is kept of it, or it never existed: results are kept as long as their contract says, cancelled jobs for a "
    "day, dead letters until their retention ends"
)


class Command(OperatorCommand):
    help = "Lists jobs, shows one and why it does not run; cancels, stops or starts one before its time."

    def add_arguments(self, parser: CommandParser) -> None:
        """Sub-commands of the command."""
        actions = parser.add_subparsers(
            dest="action", required=True, metavar="list|show|why|cancel|stop|run-now|unpark"
        )
        shown = actions.add_parser("list", help="jobs of a state (without --state: the live ones)")
        shown.add_argument("--tenant", metavar="SLUG", help="only this tenant's")
        shown.add_argument("--state", choices=listing.STATES, help="only jobs in this state")
        shown.add_argument("--limit", type=whole(1, MOST), default=50, metavar="N", help="at most so many (default 50)")
        one = actions.add_parser("show", help="one job")
        one.add_argument("id", metavar="ID")
        reasons = actions.add_parser("why", help="why a job does not run, or what became of it")
        reasons.add_argument("id", metavar="ID")
        end = actions.add_parser("cancel", help="end a waiting or delayed job before it runs")
        end.add_argument("id", metavar="ID", nargs="?")
        end.add_argument("--key", help="by key instead of id; needs --tenant and --job")
        end.add_argument("--job", help="name of the job type, with --key")
        stop = actions.add_parser("stop", help="end a running job: kill its process and what it started")
        stop.add_argument("id", metavar="ID")
        stop.add_argument("--retry", action="store_true", help="run it again at once, if an attempt is left")
        stop.add_argument("--reason", default="", help="kept with the job and in the audit")
        now = actions.add_parser("run-now", help="send a delayed job, or one that backs off, to its queue at once")
        now.add_argument("id", metavar="ID")
        for each in (end, stop, now):
            each.add_argument("--tenant", metavar="SLUG", help="of this tenant only")
        again = actions.add_parser("unpark", help="push a parked outbox row again, at the risk of a second run")
        again.add_argument("id", metavar="ID")
        for each in (shown, one, reasons, end, stop, now, again):
            super().add_arguments(each)

    def run(self, options: dict[str, Any]) -> None:
        """Do the sub-command."""
        getattr(self, "_" + options["action"].replace("-", "_"))(options)

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

    def _why(self, options: dict[str, Any]) -> None:
        found = why(options["id"])
        if found is None:
            raise Refused(f"job {options['id']}: {_NOTHING_KEPT}")
        if options["as_json"]:
            self.print_json(answer(found))
            return
        self.stdout.write(f"{found.id}  {found.state}")
        for reason in found.reasons:
            self._tell(reason)
        if found.estimate:
            about = f"about {iso(found.expected_start)}, " if found.expected_start else ""
            self.stdout.write(f"starts: {about}{found.estimate}")
        if found.helps:
            self.stdout.write("what helps:")
        for each in found.helps:
            self.stdout.write(_printable(f"  {each.what}" + (f": {each.command}" if each.command else "")))

    def _tell(self, reason: Reason) -> None:
        told = (
            (SINCE_WORDS.get(reason.kind, "since"), reason.since),
            (UNTIL_WORDS.get(reason.kind, "until"), reason.until),
            ("times out at", reason.times_out_at),
        )
        moments = ", ".join(f"{word} {iso(moment)}" for word, moment in told if moment)
        self.stdout.write(_printable(f"- {reason.text}" + (f" ({moments})" if moments else "")))
        for one in reason.holders:
            self.stdout.write(_printable(f"    {one.job_id}  {one.worker or '-'}  {iso(at(one.since_ms)) or '-'}"))
        if reason.more:
            self.stdout.write(f"    and {reason.more:,} more")

    def _stop(self, options: dict[str, Any]) -> None:
        said = job_stop(
            job_id=options["id"], by=command_actor(), tenant=options["tenant"], retry=options["retry"],
            reason=options["reason"],
        )  # fmt: skip
        if said != "stopping":
            raise Refused(f"job {options['id']} cannot be stopped: {_NOT_STOPPABLE[said].format(id=options['id'])}")
        self._done(options, said)

    def _run_now(self, options: dict[str, Any]) -> None:
        said = job_run_now(job_id=options["id"], by=command_actor(), tenant=options["tenant"])
        if said not in ("queued", "outbox"):
            raise Refused(f"job {options['id']} cannot be run now: {_NOT_BEFORE_TIME[said].format(id=options['id'])}")
        self._done(options, said)

    def _done(self, options: dict[str, Any], state: str) -> None:
        if options["as_json"]:
            self.print_json({"id": options["id"], "state": state})
        else:
            self.stdout.write(f"{options['id']}  {state}")

    def _cancel(self, options: dict[str, Any]) -> None:
        by_key = options["key"] is not None
        if by_key == (options["id"] is not None):
            raise Usage("jobs cancel: give either an id, or --key with --tenant and --job")
        if by_key and not (options["tenant"] and options["job"]):
            raise Usage("jobs cancel --key: a key is one of a tenant and a job type; give --tenant and --job too")
        if by_key:
            known = registry.resolve(options["job"])
            job_type = known.name if known else options["job"]
            said, job_id = job_cancel_by_key(
                tenant=options["tenant"], job_type=job_type, key=options["key"], by=command_actor()
            )
            what = f"key {options['key']!r} of {options['tenant']}"
        else:
            job_id, what = options["id"], f"job {options['id']}"
            said = job_cancel(job_id=job_id, tenant=options["tenant"], by=command_actor())
        if said != "cancelled":
            raise Refused(f"{what} cannot be cancelled: {_NOT_CANCELLABLE[said].format(id=job_id)}")
        self._done({**options, "id": job_id}, said)

    def _unpark(self, options: dict[str, Any]) -> None:
        if not job_unpark(job_id=options["id"], by=command_actor()):
            raise Refused(f"job {options['id']} is not parked in the outbox")
        self._done(options, "outbox")


def _cut(limit: int, total: int | None) -> str:
    """The line under a list that does not show everything."""
    # Jobs come and go while they are counted.
    of = "many more" if total is None else f"{max(total, limit + 1):,}"
    more = "; --limit N shows more" if limit < MOST else ""
    return f"{limit:,} of {of}{more}"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "·" for char in text)
