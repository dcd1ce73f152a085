"""The tables of the dead-letter queue, one file each."""

from dlq.models.bulk import BulkAction, BulkMember
from dlq.models.discard_reason import DiscardReason
from dlq.models.foreign import ForeignJob
from dlq.models.group import DeadLetterGroup, GroupNote, GroupSpan, GroupTenant
from dlq.models.letter import UNDRAINED, DeadLetter, Reason, Severity, State
from dlq.models.owners import LetterChange, RuleSet
from dlq.models.plan import ReplayPlan
from dlq.models.redirect import Redirect
from dlq.models.run import ReplayRun
from dlq.models.search import SearchText

__all__ = [
    "UNDRAINED",
    "BulkAction",
    "BulkMember",
    "DeadLetter",
    "DeadLetterGroup",
    "DiscardReason",
    "ForeignJob",
    "GroupNote",
    "GroupSpan",
    "GroupTenant",
    "LetterChange",
    "Reason",
    "Redirect",
    "ReplayPlan",
    "ReplayRun",
    "RuleSet",
    "SearchText",
    "Severity",
    "State",
]
