"""What taking, handing on and giving back have in common, for one letter and for a group."""

from __future__ import annotations

from enum import Enum
from typing import Any

from django.contrib.auth.models import User

from dlq.errors import InvalidAction
from dlq.owners.names import known_owners
from tenants.access import can, sees_all, tenants_visible_to
from tenants.models import Tenant
from tenants.roles import Action
from tenants.services import Actor, actor_name

BY_HAND = "by hand: "
"""How ``owned_by`` begins where a person decided; their name follows."""


class Unset(Enum):
    """What was not given, where None is a value."""

    UNSET = "unset"


UNSET = Unset.UNSET


def taker(by: Actor) -> User:
    """Who takes it. Raises ``InvalidAction`` for what is no person."""
    if not isinstance(by, User):
        raise InvalidAction("assignee", "only a person who is signed in can take it; name one to hand it to")
    return by


def check_free(assignee: User | None, by: User) -> None:
    """Raises ``InvalidAction`` when somebody else has it already: taking it would be behind their back."""
    if assignee is not None and assignee.pk != by.pk:
        raise InvalidAction("assignee", f"{assignee.get_username()} has it; hand it on to yourself if that is meant")


def wanted(
    *, by: Actor, owner: str | None, assignee: User | Unset | None, tenant: Tenant | None, whole: bool
) -> dict[str, Any]:
    """The fields that handing on writes. ``tenant``: whose letter it is; ``whole``: it is a group, of many tenants.

    Raises ``InvalidAction`` when neither is given, for an owner whom nobody knows, and for a person who is gone or
    may not work on it.
    """
    if owner is None and isinstance(assignee, Unset):
        raise InvalidAction("owner", "say to which team it goes, or to which person")
    fields: dict[str, Any] = {"by_hand": True, "owned_by": f"{BY_HAND}{actor_name(by)}"}
    if owner is not None:
        fields["owner"] = _owner(owner)
    if not isinstance(assignee, Unset):
        fields["assignee"] = assignee
        if assignee is not None:
            _check_works(assignee, tenant, whole=whole)
    return fields


def told(thing: Any) -> dict[str, Any]:
    """What the audit says of whose it is."""
    return {"owner": thing.owner, "assignee": thing.assignee.get_username() if thing.assignee is not None else None}


def _owner(name: str) -> str:
    name = name.strip()
    known = known_owners()
    if name not in known:
        raise InvalidAction("owner", f"no team is called {name!r}; those are {', '.join(sorted(known))}")
    return name


def _check_works(user: User, tenant: Tenant | None, *, whole: bool) -> None:
    """Raises ``InvalidAction`` for whom it would only lie with: no account any more, or none that may act on it."""
    name = user.get_username()
    # Locked until the end: an account that is deleted at this moment would leave a key that leads nowhere.
    if not User.objects.select_for_update(no_key=True).filter(pk=user.pk).exists():
        raise InvalidAction("assignee", f"there is no account {name!r} any more")
    if can(user, Action.ASSIGN, None if whole else tenant):
        return
    sees = sees_all(user) or (not whole and tenant is not None and tenants_visible_to(user).contains(tenant))
    why = "may only look at it" if sees else "cannot see it"
    raise InvalidAction("assignee", f"{name} {why}; name somebody who may work on it")
