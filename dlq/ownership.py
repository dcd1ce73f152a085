"""Whose a dead letter is, and until when it must be drained."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from dlq.text import one_line
from jobops.contracts import registry

OWNER_LENGTH = 100
DEFAULT_DRAIN_SLA = timedelta(days=1)
# A longer promise is none, and dates end in the year 9999.
LONGEST_DRAIN_SLA = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Promise:
    """The team that must drain a letter, and how long it has."""

    owner: str
    drain_sla: timedelta

    def due_at(self, dead_at: datetime) -> datetime:
        """Until when a letter of this instant must be drained."""
        return dead_at + self.drain_sla


def promise_for(job_type: str) -> Promise:
    """What the job type's contract promises; for one that is not registered, or promises nothing: the defaults.

    Always answers an owner and a time, whatever the registry holds.
    """
    contract = registry.resolve(job_type) if job_type else None
    owner = one_line(contract.owner, OWNER_LENGTH) if contract and contract.owner else ""
    sla = contract.drain_sla if contract else None
    if sla is None or sla <= timedelta(0):
        sla = DEFAULT_DRAIN_SLA
    return Promise(owner.strip() or settings.JOBOPS_DEFAULT_OWNER, min(sla, LONGEST_DRAIN_SLA))
