"""One letter: taken, handed on, given back."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from dlq.causes.counting import refresh_due
from dlq.changing import letter_change, set_fields
from dlq.errors import InvalidAction, WrongState
from dlq.locking import lock_letters
from dlq.models import DeadLetter
from dlq.owners.hands import UNSET, Unset, check_free, taker, told, wanted
from dlq.owners.redeciding import FIELDS, redecided
from dlq.rows import update_rows
from jobops.audit.recording import difference, record
from tenants.services import Actor

DRAINED = "it is drained: nobody has to deal with it any more"


def letter_take(*, letter_id: int, by: Actor) -> DeadLetter:
    """Have the letter be this person's; its team stays. Twice is as once.

    Raises ``InvalidAction`` when another person has it, ``WrongState`` for a drained letter, or
    ``DeadLetter.DoesNotExist``.
    """
    person = taker(by)
    with transaction.atomic():
        letter = _lock(letter_id)
        check_free(letter.assignee, person)
        fields = wanted(by=by, owner=None, assignee=person, tenant=letter.tenant, whole=False)
        return _save(letter, "letter.take", by, fields)


def letter_assign(
    *, letter_id: int, by: Actor, owner: str | None = None, assignee: User | Unset | None = UNSET
) -> DeadLetter:
    """Hand the letter on to a team, a person, or both; what is not given stays. ``assignee=None``: to nobody.

    Raises as ``letter_take``; ``InvalidAction`` (field ``owner`` or ``assignee``) for whom nobody knows or who cannot
    see it.
    """
    with transaction.atomic():
        letter = _lock(letter_id)
        fields = wanted(by=by, owner=owner, assignee=assignee, tenant=letter.tenant, whole=False)
        return _save(letter, "letter.assign", by, fields)


def letter_give_back(*, letter_id: int, by: Actor) -> DeadLetter:
    """Take back what persons decided about this letter: it is its group's, or as the rules say.

    Raises ``InvalidAction`` when no person decided, ``WrongState`` and ``DeadLetter.DoesNotExist`` as the others.
    """
    with transaction.atomic():
        letter = _lock(letter_id)
        if not letter.by_hand:
            raise InvalidAction("letter", "nobody took it or handed it on: it is where the rules put it")
        before = told(letter)
        letter.by_hand = False
        redecided([letter])
        update_rows(DeadLetter, [letter], ("by_hand", *FIELDS))
        _record(letter, "letter.give_back", by, before)
        if letter.group_id is not None:
            refresh_due([letter.group_id])
    return letter


def _lock(letter_id: int) -> DeadLetter:
    letters = lock_letters([letter_id])
    if not letters:
        raise DeadLetter.DoesNotExist(f"There is no dead letter {letter_id}.")
    if not letters[0].is_undrained:
        raise WrongState(letter_id, letters[0].state, DRAINED)
    return letters[0]


def _save(letter: DeadLetter, action: str, by: Actor, fields: dict[str, Any]) -> DeadLetter:
    before = told(letter)
    if letter.by_hand and all(getattr(letter, name) == value for name, value in fields.items()):
        return letter
    set_fields([letter], fields)
    update_rows(DeadLetter, [letter], list(fields))
    _record(letter, action, by, before)
    return letter


def _record(letter: DeadLetter, action: str, by: Actor, before: dict[str, Any]) -> None:
    was, now = difference(before, told(letter))
    record(by, letter_change(letter, action, was, now))
