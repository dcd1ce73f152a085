"""Whose a dead letter is, and until when it must be drained."""

from datetime import timedelta

from django.conf import settings

from dlq.text import one_line
from jobops.contracts import registry

OWNER_LENGTH = 100
DEFAULT_DRAIN_SLA = timedelta(days=1)
# A longer promise is none, and dates end in the year 9999.
LONGEST_DRAIN_SLA = timedelta(days=3650)


def drain_sla(job_type: str) -> timedelta:
    """How long the job type's contract gives; one that is not registered, or promises nothing: the default."""
    contract = registry.resolve(job_type) if job_type else None
    sla = contract.drain_sla if contract else None
    if sla is None or sla <= timedelta(0):
        return DEFAULT_DRAIN_SLA
    return min(sla, LONGEST_DRAIN_SLA)


def owner_for(job_type: str) -> str:
    """Whose letters of this type are without a rule: its contract's owner's, or the default team's. Never empty."""
    return contract_owner(job_type) or settings.JOBOPS_DEFAULT_OWNER


def contract_owner(job_type: str) -> str:
    """The team that the job type's contract names; empty if it is not registered, or names none."""
    contract = registry.resolve(job_type) if job_type else None
    return one_line(contract.owner, OWNER_LENGTH).strip() if contract and contract.owner else ""
