"""``manage.py enqueue``: one run of a job type, from the command line."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser
from django.db import Error as DatabaseError

from jobops.contracts import registry
from jobops.contracts.calls import make_call
from jobops.contracts.durations import parse
from jobops.contracts.faults import BadValue
from jobops.engine.errors import EnqueueRefused, UnknownTenant, Unserializable
from jobops.management.base import OperatorCommand, Refused, Usage, command_actor
from jobops.runtime.job_actions import record_enqueue

OPTIONS = {
    "job": "JOB",
    "tenant": "--tenant",
    "arguments": "--kwargs",
    "key": "--key",
    "lane": "--lane",
    "run_after": "--run-after",
}
"""Where a field was typed."""


class Command(OperatorCommand):
    help = "Enqueues one run of a job type for a tenant."

    def add_arguments(self, parser: CommandParser) -> None:
        """Options of the command."""
        super().add_arguments(parser)
        parser.add_argument("job", metavar="JOB", help="name or alias of a job type")
        parser.add_argument("--tenant", required=True, help="the tenant's slug")
        parser.add_argument("--kwargs", default="{}", metavar="JSON", help="the arguments, as a JSON object")
        parser.add_argument("--key", help="not while another job of this type and tenant with this key is live")
        parser.add_argument("--lane", help="instead of the job type's own lane")
        parser.add_argument("--run-after", metavar="DURATION", help="wait first: 10s, 5m, 1h30m")

    def run(self, options: dict[str, Any]) -> None:
        """Enqueue and say under which id."""
        kwargs, run_after = _kwargs(options["kwargs"]), _duration(options["run_after"])
        try:
            job_type = registry.get(options["job"])
            call = make_call(
                job_type,
                tenant=options["tenant"],
                key=options["key"],
                lane=options["lane"],
                run_after=run_after,
            )
            handle = call.enqueue(**kwargs)
        except EnqueueRefused as error:
            if isinstance(error, UnknownTenant) and isinstance(error.__cause__, DatabaseError):
                # Redis does not know it, and the database could not be asked: that is what to mend first. Its own
                # cause says what is wrong with it, so it gets no other.
                raise error.__cause__ from error.__cause__.__cause__
            raise _refused(error) from error
        if handle.state != "coalesced":
            record_enqueue(job_id=handle.id, by=command_actor())
        queue = f"{call.tenant}.{call.lane}"
        if options["as_json"]:
            self.print_json(
                {"id": handle.id, "tenant": call.tenant, "job": job_type.name, "queue": queue, "state": handle.state}
            )
        else:
            self.stdout.write(f"{handle.id}  {job_type.name}  {queue}  {handle.state}")


def _refused(error: EnqueueRefused) -> Exception:
    """The refusal, with the option that was typed where the engine names its field."""
    if isinstance(error, Unserializable):
        return Refused(f"--kwargs: {error}")
    field, colon, problem = str(error).partition(": ")
    return Refused(f"{OPTIONS[field]}: {problem}" if colon and field in OPTIONS else str(error))


def _kwargs(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Usage(f"--kwargs: not JSON ({error}); give an object such as '{{\"invoice_id\": 42}}'") from error
    if not isinstance(value, dict):
        raise Usage("--kwargs: not a JSON object; give the arguments by name, such as '{\"invoice_id\": 42}'")
    return value


def _duration(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return parse(text)
    except BadValue as error:
        raise Usage(f"--run-after: {error}") from error
