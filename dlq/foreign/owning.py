"""Letters that a person gave to a team as they were taken over: no rule takes them away."""

from __future__ import annotations

from collections.abc import Sequence

from dlq.models import DeadLetter, DeadLetterGroup
from dlq.owners.hands import BY_HAND
from dlq.text import one_line
from tenants.services import Actor, actor_name


def hand_to(owner: str, by: Actor, letters: Sequence[DeadLetter]) -> None:
    """Give letters that are about to be stored, and causes that only they have, to this team."""
    word = one_line(f"{BY_HAND}{actor_name(by)}", 200)
    for letter in letters:
        letter.owner, letter.owned_by, letter.by_hand = owner, word, True
    # A cause that was there is whose it is.
    new = DeadLetterGroup.objects.filter(pk__in={letter.group_id for letter in letters}, deaths=0, by_hand=False)
    new.update(owner=owner, owned_by=word, by_hand=True)
