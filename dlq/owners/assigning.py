"""Taking, handing on and giving back: by a person, and never undone by a rule. Callers ask ``tenants.access.can``."""

from dlq.owners.group_hands import GroupChanged, group_assign, group_give_back, group_take
from dlq.owners.hands import BY_HAND, UNSET, Unset
from dlq.owners.letter_hands import letter_assign, letter_give_back, letter_take

__all__ = [
    "BY_HAND",
    "UNSET",
    "GroupChanged",
    "Unset",
    "group_assign",
    "group_give_back",
    "group_take",
    "letter_assign",
    "letter_give_back",
    "letter_take",
]
