"""``manage.py dlq replay ID --edit JSON``: one letter, once, with other arguments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dlq.editing import Edit, Editable, NoSuchArgument, edit_refused
from dlq.edits import changes_of
from dlq.errors import InvalidAction, NotReplayable, WrongState
from dlq.services import letter_replay_edited
from dlq.states import Event, allows, why_not
from jobops.management.base import OperatorCommand, Refused, Usage, command_actor
from jobops.management.dlq_filters import asked, letter_named

_PLAN = ("rate", "in_flight", "lane", "spread_s", "start_at", "canary", "canary_failures", "breaker_percent")
COLUMNS = ("argument", "original", "edited")


def run_edit(command: OperatorCommand, options: dict[str, Any]) -> None:
    """Replay the one letter that is named. What is masked is kept, or replaced as a whole, and never printed."""
    letter = letter_named(_only_id(options))
    try:
        editable = Editable(letter)
        edit = editable.edit(_given(options["edit"]))
        if not allows(letter.state, Event.REPLAY):
            raise WrongState(letter.pk, letter.state, why_not(letter.state, Event.REPLAY))
        if not options["dry_run"]:
            by = command_actor()
            letter_replay_edited(letter_id=letter.pk, by=by, edit=edit, from_start=options["from_start"])
    except NoSuchArgument as error:
        edit_refused(letter=letter, by=command_actor(), names=[error.field])
        raise Refused(f"--edit: {error}") from error
    except InvalidAction as error:
        raise Refused(f"--edit: {error}") from error
    except (NotReplayable, WrongState) as error:
        raise Refused(str(error)) from error
    _tell(command, options, editable, edit)


def _tell(command: OperatorCommand, options: dict[str, Any], editable: Editable, edit: Edit) -> None:
    changes = changes_of(editable.letter, edit.payload, replaced=edit.replaced)
    rows = [
        {"argument": each.name, "original": each.was, "edited": each.now, "masked": each.masked} for each in changes
    ]
    dry = options["dry_run"]
    if options["as_json"]:
        done = {"matched": 1, "done": int(not dry), "skipped": 0, "dry_run": dry, "changed": list(edit.changed)}
        command.print_json(done | {"changes": rows})
        return
    command.print_table(COLUMNS, rows, "nothing is changed")
    command.stdout.write(
        f"{'would be replayed' if dry else 'replayed'}: {editable.letter.pk}, with these arguments, once"
    )


def _only_id(options: dict[str, Any]) -> str:
    ids: Sequence[str] = options["ids"]
    if len(ids) != 1 or asked(options) or options["all"]:
        raise Usage("--edit: takes one letter by its name, and no filters")
    if any(options.get(name) is not None for name in _PLAN) or options.get("wait"):
        raise Usage("--edit: one letter is sent at once; leave out how many are to run")
    return ids[0]


def _given(text: str) -> dict[str, str | None]:
    """Argument → its new value as text. Raises ``Usage``."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Usage(f"--edit: is no JSON: {error}") from error
    if not isinstance(read, dict):
        raise Usage('--edit: must be an object of arguments and their values, such as {"number": 8}')
    return {name: json.dumps(value) for name, value in read.items()}
