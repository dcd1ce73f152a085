"""All tables of the jobops app, gathered for Django from where they are at home."""

from jobops.audit.models import AuditEntry
from jobops.context.models import OutboxEntry, OutboxHold
from jobops.steward.models import CellState

__all__ = ["AuditEntry", "CellState", "OutboxEntry", "OutboxHold"]
