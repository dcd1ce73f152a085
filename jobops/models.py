"""All tables of the jobops app, gathered for Django from where they are at home."""

from jobops.alerts.models import Alert, AlertRule, Channel, Delivery, Pending, RunTimeBaseline, Silence
from jobops.audit.models import AuditEntry
from jobops.batches.models import Batch
from jobops.context.models import OnceRecord, OutboxEntry, OutboxHold
from jobops.limits.models import LimitChange, Pause
from jobops.steward.models import CellState

__all__ = [
    "Alert",
    "AlertRule",
    "AuditEntry",
    "Batch",
    "CellState",
    "Channel",
    "Delivery",
    "LimitChange",
    "OnceRecord",
    "OutboxEntry",
    "OutboxHold",
    "Pause",
    "Pending",
    "RunTimeBaseline",
    "Silence",
]
