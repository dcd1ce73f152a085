"""Whom a form hands something to: a team, a person, or both. The fields ``owner`` and ``assignee``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User

from dlq.errors import InvalidAction
from dlq.owners.assigning import UNSET, Unset

TO_NOBODY = "-"
"""What the field for a person says when the team has it, and nobody in particular."""


@dataclass(frozen=True, slots=True)
class Hand:
    """What is asked; ``owner`` None and ``assignee`` unset stay as they are."""

    owner: str | None
    assignee: User | Unset | None


def hand_of(form: Mapping[str, str]) -> Hand:
    """What the form asks. Raises ``InvalidAction`` (field ``assignee``) for a login that nobody has."""
    owner, login = form.get("owner", "").strip(), form.get("assignee", "").strip()
    if not login:
        return Hand(owner or None, UNSET)
    if login == TO_NOBODY:
        return Hand(owner or None, None)
    # A NUL is in no login; PostgreSQL would refuse to look for it.
    user = None if "\0" in login else User.objects.filter(username=login).first()
    if user is None:
        raise InvalidAction("assignee", "nobody has this login")
    return Hand(owner or None, user)
