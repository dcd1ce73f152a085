"""Who does something about an alert."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

Actor: TypeAlias = "User | AnonymousUser | str"
"""A signed-in person, or the name of what acts by itself (``command:root``, ``scheduler``)."""


def name_of(by: Actor) -> str:
    """As rows and messages name them."""
    return (by if isinstance(by, str) else by.get_username())[:150]
