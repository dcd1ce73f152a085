"""``manage.py dlq groups --check`` and ``--repair``: the counts of causes held against their letters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dlq.causes.adopting import adopt, without_group
from dlq.causes.checking import Difference, differences
from dlq.causes.repairing import repair
from jobops.management.base import Found, OperatorCommand, command_actor

COLUMNS = ("group", "tenant", "what", "counted", "right")


def check_counts(command: OperatorCommand, as_json: bool) -> None:
    """Print each count that is not what the letters say. Raises ``Found`` if there is one."""
    rows = [_row(difference) for difference in differences()]
    missing = without_group().count()
    if as_json:
        command.print_json(rows)
    elif rows:
        command.print_table(COLUMNS, rows, "")
    elif not missing:
        command.stdout.write("all counts are right")
    faults = [f"{_so_many(len(rows), 'count is', 'counts are')} not right"] if rows else []
    if missing:
        faults.append(f"{_so_many(missing, 'letter has', 'letters have')} no cause yet, which a duty gives them")
    if faults:
        raise Found(f"{'; '.join(faults)}; `manage.py dlq groups --repair` puts it right")


def repair_counts(command: OperatorCommand, as_json: bool) -> None:
    """Put right what is not, and print each count as it was and is."""
    adopted = 0
    while done := adopt():
        adopted += done
    rows = [_row(difference) for difference in _repaired()]
    if as_json:
        command.print_json(rows)
        return
    if adopted:
        command.stdout.write(f"{_so_many(adopted, 'letter was', 'letters were')} given their causes")
    command.print_table(COLUMNS, rows, "all counts are right")


def _repaired() -> Iterator[Difference]:
    last = 0
    for difference in differences():
        if difference.group_id != last:
            last = difference.group_id
            # Read again under its lock: what is not wrong any more is left alone.
            yield from repair(last, command_actor())


def _so_many(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _row(difference: Difference) -> dict[str, Any]:
    return {
        "group": difference.group_id,
        "tenant": difference.tenant_id,
        "what": difference.what,
        "counted": difference.counted,
        "right": difference.right,
    }
