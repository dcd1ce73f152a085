"""What would happen if a draft were confirmed, as sentences: of one letter as of one, of many as of many. Pure."""

from __future__ import annotations

from dlq.bulk_preview import Preview
from dlq.models import BulkAction
from jobops.web.formats import NBSP, number

Kind = BulkAction.Kind
Step = tuple[str, str]
"""The claim, and what follows it."""


def steps(bulk: BulkAction, found: Preview, *, staff: bool) -> list[Step]:
    """What will happen, in order."""
    if bulk.kind == Kind.DISCARD:
        return _discarded(found.will_do)
    if bulk.kind == Kind.UNDO:
        return [_opened(found.will_do, staff=staff)]
    sent = [_sent(found.will_do, staff=staff)]
    sent += [_of_one(staff=staff)] if found.will_do == 1 else _of_many(staff=staff)
    if found.unchecked:
        are = "is checked as it goes" if found.unchecked == 1 else "are checked as they go"
        sent.append((f"{number(found.unchecked)} {are}.", "What does not fit is skipped, and told."))
    return sent


def _discarded(n: int) -> list[Step]:
    if n == 1:
        closed = ("1 is closed for good.", "Nobody has to deal with it any more.")
        return [
            closed,
            ("Nothing is deleted.", "It is kept with your reason and your name, and can be found and read."),
            ("You can undo it", f"for 30{NBSP}days."),
        ]
    return [
        (f"{number(n)} are closed for good.", "Nobody has to deal with them any more."),
        ("Nothing is deleted.", "Each is kept with your reason and your name, and can be found and read."),
        ("You can undo it", f"for 30{NBSP}days, all at once from here or one by one."),
    ]


def _opened(n: int, *, staff: bool) -> Step:
    back = "open again" if staff else "back among those that did not work"
    if n == 1:
        return f"1 is {back},", "with the deadline it had before."
    return f"{number(n)} are {back},", "with the deadline each of them had before."


def _sent(n: int, *, staff: bool) -> Step:
    one = n == 1
    queues = "goes back to its queue" if one else "go back to their queues"
    if not staff:
        return f"{number(n)} {queues}.", "No more run at once than you may run anyway."
    whose = "Its" if one else "Each"
    return f"{number(n)} {queues}.", f"{whose} tenant stays under its own cap, and no other tenant waits for it."


def _of_one(*, staff: bool) -> Step:
    if staff:
        dies = "if it dies again, it is back with its deadline unchanged."
        return "If it succeeds, its dead letter is drained;", dies
    return "If it works, it leaves this list.", "If it fails again, it comes back to it."


def _of_many(*, staff: bool) -> list[Step]:
    stop = ("You can stop it at any moment.", "What was sent by then goes on; the rest stays as it is.")
    if staff:
        dies = "a job that dies again comes back here with its deadline unchanged."
        return [stop, ("Each success drains its dead letter;", dies)]
    return [stop, ("What works leaves this list.", "What fails again comes back to it.")]
