"""New versions of the rules: checked, kept for good, and applied to the letters that are there."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from dlq.errors import LetterError
from dlq.models import LetterChange, RuleSet
from dlq.owners.checking import Checked, check_rules
from dlq.owners.parsing import Fault
from dlq.owners.spreading import change_begin, change_run
from dlq.owners.turn import while_changing
from dlq.owners.versions import lines_changed, newest_rules
from dlq.text import one_line
from jobops.audit.recording import Change, record
from tenants.services import Actor, actor_name

NOTE_LENGTH = 200


class InvalidRules(LetterError):
    """The text cannot be in force; ``faults`` says what is wrong with which line."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{faults[0]}{more}")


class RulesChanged(LetterError):
    """Somebody saved another version meanwhile, which this one would take back without a word."""

    def __init__(self, newest: RuleSet) -> None:
        self.newest = newest
        super().__init__(f"{newest.by} saved version {newest.pk} meanwhile; look at it, and change that one")


@dataclass(frozen=True, slots=True)
class Saved:
    """The version in force. ``is_new``: it was not before; ``letters``: how many say otherwise now, and
    ``going_on``: whether a duty changes more of them."""

    version: int
    is_new: bool
    letters: int
    going_on: bool
    checked: Checked


def rules_save(*, text: str, by: Actor, note: str = "", base: int | None = None) -> Saved:
    """Put the text in force, for what dies from now on and for every undrained letter that no person decided about.

    ``base``: the version that it was made from; None: whatever there is. Raises ``InvalidRules``, or ``RulesChanged``
    when another version is the newest. The first letters are decided anew before this answers.
    """
    text = normal(text)
    checked = check_rules(text)
    if checked.errors:
        raise InvalidRules(checked.errors)
    with transaction.atomic():
        while_changing()
        newest = newest_rules()
        if base is not None and newest is not None and newest.pk != base:
            raise RulesChanged(newest)
        before = newest.text if newest is not None else ""
        if newest is not None and before == text:
            return Saved(newest.pk, is_new=False, letters=0, going_on=False, checked=checked)
        made = RuleSet.objects.create(text=text, by=actor_name(by), note=one_line(note, NOTE_LENGTH))
        added, gone = lines_changed(before, text)
        after = {"version": made.pk, "rules": len(checked.rules), "lines added": added, "lines gone": gone}
        was = {"version": newest.pk if newest is not None else None}
        record(by, Change("rules.save", "rules", made.pk, before=was, after=after, reason=made.note))
        change_id = _begin(made.pk, by)
    return _spread(change_id, made.pk, checked)


def rules_apply(*, by: Actor) -> Saved:
    """Decide anew about every undrained letter by the rules as they are: after contracts named other teams."""
    with transaction.atomic():
        while_changing()
        newest = newest_rules()
        version = newest.pk if newest is not None else 0
        record(by, Change("rules.apply", "rules", version))
        change_id = _begin(version, by)
    return _spread(change_id, version, check_rules(newest.text if newest is not None else ""))


def normal(text: str) -> str:
    """The text as it is kept: lines end one way, nothing trails them, and no NUL is in it."""
    lines = [line.rstrip() for line in text.replace("\0", "").splitlines()]
    return "\n".join(lines).strip("\n") + "\n" if any(lines) else ""


def _begin(version: int, by: Actor) -> int:
    return change_begin(kind=LetterChange.Kind.OWNER, by=by, what={"rules": version})


def _spread(change_id: int, version: int, checked: Checked) -> Saved:
    # After the commit: nobody who stores a letter waits for all the others.
    change_run(change_id)
    change = LetterChange.objects.get(pk=change_id)
    return Saved(version, True, change.changed, change.ended_at is None, checked)
