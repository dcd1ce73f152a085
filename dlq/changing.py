"""What all changes that people make to letters have in common: the check, the compare-and-set, the row in the audit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dlq.causes.counting import count_moves
from dlq.errors import InvalidAction, LetterError, NotReplayable, WrongState
from dlq.models import DeadLetter, ReplayRun, State
from dlq.states import TRANSITIONS, Event, allows, why_not
from jobops.audit.recording import Change, record_many
from tenants.services import Actor

SCHEDULER = "scheduler"
"""Who moves letters by itself: the process whose duties take in how replays ended."""


@dataclass(slots=True)
class Done:
    """What became of a batch: the runs that were started, and why the others were left alone, by letter id."""

    runs: dict[int, ReplayRun] = field(default_factory=dict)
    refused: dict[int, LetterError] = field(default_factory=dict)

    def raise_for(self, letter_id: int) -> None:
        """Raise why this letter was left alone, if it was."""
        if letter_id in self.refused:
            raise self.refused[letter_id]


def checked(letters: Sequence[DeadLetter], event: Event) -> Done:
    """A batch in which those are refused that are in no state for the event."""
    done = Done()
    for letter in letters:
        try:
            check_state(letter, event)
        except WrongState as error:
            done.refused[letter.pk] = error
    return done


def check_state(letter: DeadLetter, event: Event) -> None:
    """Raises ``WrongState`` if the event cannot happen to the letter."""
    if not allows(letter.state, event):
        raise WrongState(letter.pk, letter.state, why_not(letter.state, event))


def move(letters: Sequence[DeadLetter], event: Event, **fields: object) -> None:
    """The compare-and-set, which keeps the counts of the letters' groups. It cannot miss, as the letters are locked;
    should it, everything is rolled back.

    Once in a transaction, after all that it writes of letters and runs: it takes the groups, which are others' too.
    """
    if not letters:
        return
    transition = TRANSITIONS[event]
    still = DeadLetter.objects.filter(pk__in=[letter.pk for letter in letters], state__in=transition.sources)
    if still.update(state=transition.target, **fields) != len(letters):
        raise RuntimeError(f"letters were changed during {event}: they were not locked")
    before = {letter.pk: letter.state for letter in letters}
    for letter in letters:
        letter.state = transition.target
    count_moves(letters, before)


def set_fields(letters: Sequence[DeadLetter], fields: Mapping[str, object]) -> None:
    """Have the objects say what was written of them."""
    for letter in letters:
        for name, value in fields.items():
            setattr(letter, name, value)


def record(
    by: Actor,
    action: str,
    letters: Sequence[DeadLetter],
    before: State,
    after: Callable[[DeadLetter], Mapping[str, Any]] = lambda letter: {},
    reason: str = "",
) -> None:
    """Add a row to the audit for each letter, which is in its new state already."""
    record_many(by, [_change(letter, action, before, after(letter), reason) for letter in letters])


def record_moves(
    by: Actor, letters: Sequence[DeadLetter], before: Mapping[int, str], runs: Mapping[int, ReplayRun]
) -> None:
    """Add a row for each letter that the end of its replay moved. ``before``, ``runs``: by the letter's id."""
    for state, action in ((State.RESOLVED, "letter.resolve"), (State.OPEN, "letter.reopen")):
        moved = [letter for letter in letters if letter.state == state]
        changes = [
            _change(letter, action, before[letter.pk], {"replay": run.state, "job": run.job_id}, letter.note)
            for letter in moved
            if (run := runs.get(letter.pk)) is not None
        ]
        record_many(by, changes)


def _change(letter: DeadLetter, action: str, before: str, after: Mapping[str, Any], reason: str) -> Change:
    return letter_change(letter, action, {"state": str(before)}, {"state": str(letter.state), **after}, reason)


def letter_change(
    letter: DeadLetter, action: str, before: Mapping[str, Any], after: Mapping[str, Any], reason: str = ""
) -> Change:
    """A row of the audit about a letter, with its tenant."""
    return Change(
        action=action,
        target_kind="letter",
        target_id=letter.pk,
        tenant_id=letter.tenant_id,
        tenant_slug=letter.tenant_slug,
        before=before,
        after=after,
        reason=reason,
    )


def answers(letters: Sequence[DeadLetter], done: Done) -> dict[int, str]:
    """Letter id → "" (done) or why it was left alone."""
    return {letter.pk: why_refused(done.refused.get(letter.pk)) for letter in letters}


def why_refused(error: LetterError | None) -> str:
    """Why a letter was left alone, in words that follow "skipped:"; empty for none."""
    match error:
        case None:
            return ""
        case WrongState(why=why) | NotReplayable(why=why):
            return why
        case InvalidAction(problem=problem):
            return problem
    return str(error)
