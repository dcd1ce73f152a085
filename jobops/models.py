"""All tables of the jobops app, gathered for Django from where they are at home."""

from jobops.context.models import OutboxEntry, OutboxHold
from jobops.steward.models import CellState

__all__ = ["CellState", "OutboxEntry", "OutboxHold"]
