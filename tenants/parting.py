"""People whose accounts are deleted: what the layers above gave them is taken from them first."""

from __future__ import annotations

from collections.abc import Callable, Collection

LetGo = Callable[[Collection[int]], object]
_listeners: list[LetGo] = []


def before_people_go(let_go: LetGo) -> None:
    """Have ``let_go(user_ids)`` called first of all in the transaction that deletes these accounts.

    For the layers above, which take many of their rows in one order, as a cascade of the deletion would not: it and
    they would wait for each other.
    """
    _listeners.append(let_go)


def people_go(user_ids: Collection[int]) -> None:
    """Take from these people what they have, in the caller's transaction."""
    for let_go in _listeners:
        let_go(user_ids)
