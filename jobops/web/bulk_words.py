"""The sentences of a bulk action: what it would do, what it does, what came of it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import parse_qsl

from dlq.bulk_preview import Preview
from dlq.bulk_progress import Progress
from dlq.filters import parse
from dlq.models import BulkAction
from jobops.web.formats import NBSP, ago, clock_seconds, listed, number, percent, plural
from jobops.web.letter_words import OWN_NAMES
from jobops.web.replay_words import PlanLike
from jobops.web.segments import Part

Kind, State = BulkAction.Kind, BulkAction.State


@dataclass(frozen=True, slots=True)
class Tongue:
    """How one kind is spoken of. ``do``: what stands on the button, ``will``: over the number of what it is done to,
    ``was``: after "they were", ``be``: after "can be", ``undone``: as long as nothing has happened."""

    name: str
    do: str
    will: str
    was: str
    be: str
    undone: str
    icon: str


STAFF = {
    Kind.REPLAY: Tongue(
        "Replay", "Replay {}", "Will run", "sent back to run", "replayed", "Nothing has run yet.", "refresh"
    ),
    Kind.DISCARD: Tongue(
        "Discard", "Discard {}", "Will be closed", "discarded", "discarded", "Nothing is discarded yet.", "trash"
    ),
    Kind.UNDO: Tongue(
        "Undo", "Open {} again", "Will open", "opened again", "opened again", "Nothing is open again yet.",
        "arrow-back-up",
    ),
}  # fmt: skip
OWN = {
    Kind.REPLAY: Tongue(
        "New try", "Try {} again", "Will be tried", "sent back to run", "tried again", "Nothing runs yet.", "refresh"
    ),
    Kind.DISCARD: Tongue(
        "Giving up", "Give up {}", "Will be given up", "given up", "given up", "Nothing is given up yet.", "trash"
    ),
    Kind.UNDO: Tongue(
        "Undo", "Take {} back", "Will come back", "taken back", "taken back", "Nothing is back yet.", "arrow-back-up"
    ),
}  # fmt: skip
OWN_WHYS = {
    "already being replayed": "already being tried again",
    "already resolved": "worked meanwhile",
    "already discarded": "given up already",
    "it is open, not discarded": "not given up any more",
}
OWN_WHY = "cannot be tried again as they are; our team looks after them"


def tongue(kind: str, *, staff: bool) -> Tongue:
    """How this kind is spoken of, to whom."""
    return (STAFF if staff else OWN)[Kind(kind)]


def things(count: int, *, staff: bool) -> str:
    """``3,184 dead letters``; to a tenant's people, ``3,184 jobs``."""
    return plural(count, "dead letter" if staff else "job")


def do_it(kind: str, what: str, *, staff: bool) -> str:
    """What is done to what: ``Replay 3,121``, ``Try 2 jobs again``."""
    return tongue(kind, staff=staff).do.format(what)


def button(kind: str, n: int, plan: PlanLike | None, *, staff: bool) -> str:
    """What stands on the button of the preview: ``Start with 5, then 3,116``, ``Replay 3``."""
    if plan is None or not 0 < plan.canary < n:
        return do_it(kind, number(n), staff=staff)
    start = "Start" if plan.start_at is None else "Plan it"
    return f"{start} with {number(plan.canary)}, then {number(n - plan.canary)}"


def draft_title(bulk: BulkAction, found: Preview, *, staff: bool) -> str:
    """The preview in one sentence."""
    chosen = things(found.chosen, staff=staff)
    if not found.will_do:
        be = tongue(bulk.kind, staff=staff).be
        if found.chosen == 1:
            return f"This {'dead letter' if staff else 'job'} cannot be {be}"
        return f"None of {chosen} can be {be}"
    some = found.will_do < found.chosen
    return do_it(bulk.kind, f"{number(found.will_do)} of {chosen}" if some else chosen, staff=staff)


def draft_lede(bulk: BulkAction, found: Preview, *, staff: bool) -> str:
    """What is fixed, and since when."""
    said = tongue(bulk.kind, staff=staff)
    those = "This one is" if found.chosen == 1 else f"These {number(found.chosen)} are"
    later = "anything that dies later is left alone" if staff else "whatever fails later is left alone"
    return f"{said.undone} {those} fixed as of {clock_seconds(bulk.created_at)}; {later}."


def resumes(found: Preview) -> str:
    """Where those begin that have a checkpoint, and what the others do."""
    if found.will_do == 1:
        return "Where it was"
    others = found.will_do - found.resumable
    if not others:
        return "Each where it was"
    one = found.resumable == 1
    at = f"The {'one' if one else number(found.resumable)} with a checkpoint where {'it was' if one else 'they were'}"
    return f"{at}, the other {'one' if others == 1 else number(others)} from the beginning"


def failing_note(
    count: int,
    more: bool,
    latest: datetime | None,
    now: datetime,
    *,
    staff: bool,
    of_cause: bool = False,
    succeeded: int = 0,
) -> str:
    """That what is to be replayed still dies; the empty string if it does not. ``of_cause``: of its one cause;
    ``succeeded``: replays since the newest of these deaths."""
    if not count:
        return ""
    least = "At least " if more else ""
    if of_cause and succeeded:
        died = f"{least.lower()}{count:,} died of it in the last 5{NBSP}minutes"
        return f"This cause failed until {ago(latest, now)}: {died}."
    if of_cause:
        died = f"{least.lower()}{count:,} died of it in the last 5{NBSP}minutes"
        return f"This cause is still failing: {died}, the latest {ago(latest, now)}."
    kind = "of the same job types died" if staff else "of your jobs of the same kinds failed"
    return f"{least}{count:,} {kind} in the last 5{NBSP}minutes, the latest {ago(latest, now)}."


def run_title(bulk: BulkAction, at: Progress, *, staff: bool, open_again: int | None = None) -> str:
    """A running or ended action in one sentence. ``open_again``: of what did not succeed, how many are open now; None:
    all."""
    said = tongue(bulk.kind, staff=staff)
    name = f"{said.name} {bulk.pk}" if staff else said.name
    whole = at.matched - at.skipped
    if at.state == State.CANCELLED:
        were = "was" if at.done == 1 else "were"
        return f"{name} was cancelled: {number(at.done)} of {number(whole)} {were} {said.was}"
    ended = ended_of(bulk, at)
    if not at.is_over:
        return f"{name} is running: {number(ended)} of {number(whole)} done"
    if bulk.kind == Kind.REPLAY:
        back = at.died + at.came_back
        tail = f", {_back(back, back if open_again is None else open_again)}" if staff else f", {number(back)} did not"
        worked = f"{number(at.succeeded)} {'succeeded' if staff else 'worked'}"
        # All of them were drained, but by what end of which replay nobody knows any more.
        gone = f", {number(at.purged)} {'was' if at.purged == 1 else 'were'} deleted since" if at.purged else ""
        return f"{name} is over: {worked}{tail if back else ''}{gone}"
    was = "was" if at.done == 1 else "were"
    return f"{name} is over: {things(at.done, staff=staff)} {was} {said.was}"


def _back(back: int, is_open: int) -> str:
    """What became of those that did not succeed: others may have drained them since."""
    if is_open == back:
        return f"{number(back)} {'is' if back == 1 else 'are'} open again"
    now = f"{number(is_open) if is_open else 'none'} {'is' if is_open < 2 else 'are'} open now"
    return f"{number(back)} did not, of which {now}"


def ended_of(bulk: BulkAction, at: Progress) -> int:
    """How many are through: of a replay those whose job has ended, else those that it was done to."""
    return at.succeeded + at.died + at.came_back if bulk.kind == Kind.REPLAY else at.done


def run_lede(bulk: BulkAction, at: Progress, *, staff: bool, eta: str = "") -> str:
    """How well it goes, when it is through (``eta``: a sentence), who started it, why."""
    parts = []
    ended = ended_of(bulk, at)
    if bulk.kind == Kind.REPLAY and ended:
        parts.append(f"{_share(at.succeeded / ended)} of those that ended {'succeeded' if staff else 'worked'}.")
    if eta:
        parts.append(eta)
    if at.state == State.CANCELLED and at.waiting:
        parts.append(f"{number(at.waiting)} {'was left as it is' if at.waiting == 1 else 'were left as they are'}.")
    if bulk.started_at:
        parts.append(f"Started by {bulk.by} at {clock_seconds(bulk.started_at)}.")
    if bulk.reason:
        parts.append(f"“{bulk.reason}”")
    return " ".join(parts)


def _share(part: float) -> str:
    """``33.9%``, and ``100%``."""
    return f"{percent(part).removesuffix('.0')}%"


def end_word(bulk: BulkAction, at: Progress) -> str:
    """What had happened when the last member was dealt with: of a replay, the jobs go on after that."""
    if at.state == State.CANCELLED:
        return "Cancelled"
    return "All sent" if bulk.kind == Kind.REPLAY and at.done else "Ended"


def finish_text(bulk: BulkAction, at: Progress) -> str:
    """The same in its history."""
    if bulk.kind == Kind.REPLAY and at.done:
        return "All were sent or skipped" if at.skipped else "All were sent"
    return "All were dealt with"


def chosen_words(chosen: str, *, staff: bool) -> str:
    """How letters were chosen, from a filter's query string: ``Job shop.pay, Older than 2h``."""
    asked, _ = parse(dict(parse_qsl(chosen)))
    words = [_asked(word.name, word.label, word.value, asked.status, staff=staff) for word in asked.words()]
    return ", ".join(words) or ("all that were to be drained" if staff else "all that did not work")


def _asked(name: str, label: str, value: str, status: str, *, staff: bool) -> str:
    if name == "overdue":
        return "Overdue" if staff else "Late"
    return OWN_NAMES[status] if name == "status" and not staff else f"{label} {value}"


def parts(bulk: BulkAction, at: Progress, *, staff: bool, notes: Mapping[str, str] | None = None) -> list[Part]:
    """The bar and its legend; ``notes``: look → what stands under the number, in place of what is said of all."""
    skipped = Part("skip", "Skipped", at.skipped, _short(whys(at.skipped_for, staff=staff)))
    stopped = at.state == State.CANCELLED
    waiting = Part("wait", "Left alone" if stopped else "Waiting", at.waiting, "it was cancelled" if stopped else "")
    if bulk.kind != Kind.REPLAY:
        was = tongue(bulk.kind, staff=staff).was
        return [Part("ok", was[:1].upper() + was[1:], at.done), waiting, skipped]
    ran = at.succeeded + at.died + at.came_back
    share = f"{_share(at.succeeded / ran)} of those that ended" if ran else ""
    back = [f"{number(at.came_back)} cancelled or lost"] if at.came_back else []
    died = [f"{number(at.died)} died again"] if at.died and at.came_back else []
    open_again = "Died again" if not at.came_back else "Open again"
    found = [
        Part("ok", "Succeeded" if staff else "Worked", at.succeeded, share),
        Part("dead", open_again if staff else "Failed again", at.died + at.came_back, ", ".join(died + back)),
        Part("run", "Running", at.running, "queued or running" if at.running else ""),
        waiting,
        skipped,
        *([Part("skip", "Deleted since", at.purged, "drained, and purged by retention")] if at.purged else []),
    ]
    return [replace(part, note=(notes or {}).get(part.look) or part.note) for part in found]


def in_legend(shown: Sequence[Part]) -> list[Part]:
    """The parts in the order in which they are read: how it went, what goes on, what went wrong."""
    order = ("ok", "run", "wait", "dead", "skip")
    return sorted(shown, key=lambda part: order.index(part.look))


def done_text(bulk: BulkAction, at: Progress, *, staff: bool) -> str:
    """What a short action did, for the message: ``3 dead letters were discarded, 2 skipped: already resolved.``"""
    was = tongue(bulk.kind, staff=staff).was + (", from the beginning" if bulk.from_start else "")
    done = (
        f"{things(at.done, staff=staff)} {'was' if at.done == 1 else 'were'} {was}"
        if at.done
        else "Nothing was changed"
    )
    if not at.skipped:
        return f"{done}."
    return f"{done}, {number(at.skipped)} skipped: {_reasons(whys(at.skipped_for, staff=staff))}."


def _reasons(skipped_for: Mapping[str, int]) -> str:
    if len(skipped_for) == 1:
        return next(iter(skipped_for))
    ordered = sorted(skipped_for.items(), key=lambda pair: -pair[1])
    named = [f"{number(count)} {why}" for why, count in ordered[:3]]
    return listed(named) if len(ordered) <= 3 else f"{', '.join(named)} and others"


def _short(skipped_for: Mapping[str, int]) -> str:
    return "" if not skipped_for else f"for {plural(len(skipped_for), 'reason')}, below"


def skipped_lines(skipped_for: Mapping[str, int], *, staff: bool) -> Sequence[tuple[int, str]]:
    """Why and how many, most first."""
    told = whys(skipped_for, staff=staff)
    return [(count, why) for why, count in sorted(told.items(), key=lambda pair: (-pair[1], pair[0]))]


def whys(skipped_for: Mapping[str, int], *, staff: bool) -> Mapping[str, int]:
    """Why some are skipped, in the words of who reads it: a tenant's people need no part of the machine."""
    if staff:
        return skipped_for
    told: Counter[str] = Counter()
    for why, count in skipped_for.items():
        told[
            "you may not do this in their tenant" if why.startswith("you may not") else OWN_WHYS.get(why, OWN_WHY)
        ] += count
    return told
