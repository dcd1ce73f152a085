"""What people do to single jobs, and why one is not running."""

from __future__ import annotations

from typing import Literal, TypeAlias, cast

from jobops.engine.commands import Commands
from jobops.engine.why_facts import WhyFacts, facts_of

MOST_NOTE = 700
"""Characters of a note on a stop: who and why."""

Stopping: TypeAlias = Literal["stopping", "not_found", "not_running", "last_attempt", "tenant_gone"]
RanNow: TypeAlias = Literal["queued", "not_found", "not_scheduled"]


class ControlCommands(Commands):
    """What people do to single jobs, and why one is not running."""

    def stop(self, job_id: str, tenant: str | None = None, *, retry: bool = False, note: str = "") -> Stopping:
        """Ends a running job within about a second; ``retry``: it then runs again, as its next attempt, at once.

        Nothing is stopped to run again when it cannot: on its ``last_attempt``, or when its tenant was deleted
        (``tenant_gone``). ``note``: who and why, kept with the job. With ``tenant``, another tenant's job is
        ``not_found``. A job that succeeds before it is killed has succeeded.
        """
        text = note[:MOST_NOTE].encode(errors="backslashreplace")
        answer = self._call("stop", job_id, tenant or "", "retry" if retry else "end", text)
        return cast(Stopping, answer.decode())

    def run_now(self, job_id: str, tenant: str | None = None) -> RanNow:
        """Sends a delayed job to its queue before its time. With ``tenant``, another tenant's job is ``not_found``."""
        return cast(RanNow, self._call("run_now", job_id, tenant or "").decode())

    def why(self, job_id: str, tenant: str = "", lane: str = "", job_type: str = "", resource: str = "") -> WhyFacts:
        """All that decides whether and when this job starts, at one instant. Changes nothing.

        With a ``tenant``, also of a job that Redis has no record of yet: what it would meet when it comes.
        """
        return facts_of(self._call("why", job_id, tenant, lane, job_type, resource))
