"""The tables of the dead-letter queue, one file each."""

from dlq.models.bulk import BulkAction, BulkMember
from dlq.models.letter import UNDRAINED, DeadLetter, Reason, State
from dlq.models.run import ReplayRun
from dlq.models.search import SearchText

__all__ = ["UNDRAINED", "BulkAction", "BulkMember", "DeadLetter", "Reason", "ReplayRun", "SearchText", "State"]
