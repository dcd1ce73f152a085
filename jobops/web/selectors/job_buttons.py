"""Which buttons a job's page shows, and why one that is shown cannot be pressed: from the job's state and the table of
roles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobops.runtime.why_records import Kind, Why
from jobops.web.selectors.letter_buttons import refusal
from tenants.access import AnyUser, can
from tenants.models import Tenant
from tenants.roles import Action

CANCEL, STOP, RUN_NOW = "cancel", "stop", "run-now"
ACTIONS = {CANCEL: Action.CANCEL, STOP: Action.STOP, RUN_NOW: Action.RUN_NOW}
_BY_STATE: dict[str, Sequence[str]] = {
    "outbox": (CANCEL,),
    "queued": (CANCEL,),
    "waiting": (CANCEL,),
    "scheduled": (RUN_NOW, CANCEL),
    "started": (STOP,),
}


@dataclass(frozen=True, slots=True)
class JobButton:
    """``act``: cancel, stop or run-now. ``reason``: why it cannot be pressed; empty if it can."""

    act: str
    reason: str = ""

    @property
    def url_name(self) -> str:
        """Where pressing it posts to."""
        return f"job-{self.act}"


def buttons_of(user: AnyUser, found: Why, tenant: Tenant | None) -> list[JobButton]:
    """The buttons for this job as it is now, the likeliest first."""
    kinds = {reason.kind for reason in found.reasons}
    acts = list(_BY_STATE.get(found.state, ()))
    if found.state == "outbox" and Kind.DELAYED in kinds:
        acts.insert(0, RUN_NOW)
    if Kind.STOPPING in kinds:
        acts.remove(STOP)
    return [JobButton(act, refusal(user, can(user, ACTIONS[act], tenant))) for act in acts]
