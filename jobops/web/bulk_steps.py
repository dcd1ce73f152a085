"""What would happen if a draft were confirmed, as sentences: of one letter as of one, of many as of many."""

from __future__ import annotations

from datetime import datetime

from dlq.models import BulkAction
from dlq.replay_guard import may_fail
from dlq.replay_plan import DEFAULTS
from dlq.retention import kept_for
from jobops.web.formats import NBSP, clock, duration, number
from jobops.web.replay_words import PlanLike, pace, rest_s

Kind = BulkAction.Kind
Step = tuple[str, str]
"""The claim, and what follows it."""


def steps(kind: str, n: int, unchecked: int, plan: PlanLike | None, now: datetime, *, staff: bool) -> list[Step]:
    """What will happen to ``n`` of them, in order. ``unchecked``: those of them whose arguments are looked at only when
    their turn comes; ``plan``: how a replay is to run."""
    if kind == Kind.DISCARD:
        return _discarded(n)
    if kind == Kind.UNDO:
        return [_opened(n, staff=staff)]
    staged = plan is not None and is_staged(n, plan)
    sent = _waits(plan, now)
    sent += _guarded(n, plan, staff=staff) if plan is not None and staged else _at_once(n, plan, staff=staff)
    if unchecked:
        are = "is checked as it goes" if unchecked == 1 else "are checked as they go"
        sent.append((f"{number(unchecked)} {are}.", "What does not fit is skipped, and told."))
    return sent


def is_staged(n: int, plan: PlanLike) -> bool:
    """Whether some of ``n`` run first, and the others only after them."""
    return 0 < plan.canary < n


def _discarded(n: int) -> list[Step]:
    days = f"for {kept_for().days}{NBSP}days"
    if n == 1:
        closed = ("1 is closed for good.", "Nobody has to deal with it any more.")
        return [
            closed,
            ("Nothing is deleted.", "It is kept with your reason and your name, and can be found and read."),
            ("You can undo it", f"{days}."),
        ]
    return [
        (f"{number(n)} are closed for good.", "Nobody has to deal with them any more."),
        ("Nothing is deleted.", "Each is kept with your reason and your name, and can be found and read."),
        ("You can undo it", f"{days}, all at once from here or one by one."),
    ]


def _opened(n: int, *, staff: bool) -> Step:
    back = "open again" if staff else "back among those that did not work"
    if n == 1:
        return f"1 is {back},", "with the deadline it had before."
    return f"{number(n)} are {back},", "with the deadline each of them had before."


def _waits(plan: PlanLike | None, now: datetime) -> list[Step]:
    if plan is None or plan.start_at is None or plan.start_at <= now:
        return []
    wait = duration((plan.start_at - now).total_seconds())
    return [(f"It starts by itself at {clock(plan.start_at, now)},", f"in {wait}. Until then you can cancel it.")]


def _guarded(n: int, plan: PlanLike, *, staff: bool) -> list[Step]:
    """Some first, then the rest."""
    first, rest = plan.canary, n - plan.canary
    dies, die, works = ("dies", "die", "succeed") if staff else ("fails", "fail", "work")
    over = f"If one {dies} again" if not plan.canary_failures else f"If more than {plan.canary_failures} {die} again"
    if first == 1 and not plan.canary_failures:
        over = f"If it {dies} again"
    watched = f"We watch {'it' if first == 1 else 'them'} to the end. {over}, everything stops and you see why."
    good = f"If {'it' if first == 1 else 'all ' + number(first)} {works}{'s' if first == 1 else ''}"
    if plan.canary_failures:
        good = f"If no more than {plan.canary_failures} {die}"
    follow = "the other one follows by itself" if rest == 1 else f"the other {number(rest)} follow by themselves"
    claims: list[Step] = [
        (f"{number(first)} {'runs' if first == 1 else 'run'} first.", watched),
        (f"{good}, {follow}", f"{_pace(rest, plan, staff=staff)}."),
        _breaker(plan, staff=staff),
    ]
    return [*claims, _ends(staff=staff)]


def _pace(n: int, plan: PlanLike, *, staff: bool) -> str:
    """``at 20 per second, done in about 2 min 35 s``; of a tenant's people, only how long."""
    seconds = rest_s(n, plan)
    lasts = f"done in about {duration(seconds) if seconds and seconds >= 1 else f'1{NBSP}s'}" if seconds else ""
    if not staff:
        return lasts or "one after the other"
    parts = [pace(plan)] + ([lasts] if lasts and not plan.spread_s else [])
    parts += [f"at most {number(plan.in_flight)} at once"] if plan.in_flight else []
    return ", ".join(parts)


def _breaker(plan: PlanLike, *, staff: bool) -> Step:
    moment = "You can pause or cancel at any moment."
    if plan.breaker_percent >= 100:
        return "Nothing else stops it.", moment
    return "It stops by itself", f"{_trips(plan, staff=staff)}. {moment}"


def _trips(plan: PlanLike, *, staff: bool) -> str:
    """When the breaker stops it."""
    most = number(may_fail(plan.breaker_window, plan.breaker_percent))
    return f"when more than {most} of the last {number(plan.breaker_window)} {'die' if staff else 'fail'} again"


def _ends(*, staff: bool) -> Step:
    if staff:
        return (
            "No other tenant waits.",
            "Each success drains its dead letter; a job that dies again comes back here with its deadline unchanged.",
        )
    return "What works leaves this list.", "What fails again comes back to it. No more run at once than may run anyway."


def _at_once(n: int, plan: PlanLike | None, *, staff: bool) -> list[Step]:
    """All of them, without anybody's waiting for the first ones."""
    sent = [_sent(n, plan, staff=staff)]
    if n == 1:
        return [*sent, _of_one(staff=staff)]
    if plan is not None and n > plan.canary:
        never = ("Nothing stops it by itself,", f"however many {'die' if staff else 'fail'} again.")
        trips = ("It stops by itself", f"{_trips(plan, staff=staff)}.")
        sent.append(never if plan.breaker_percent >= 100 else trips)
    elif plan is not None and n > DEFAULTS.canary:
        sent.append(_all_canary(n, plan, staff=staff))
    return [*sent, *_of_many(staff=staff)]


def _all_canary(n: int, plan: PlanLike, *, staff: bool) -> Step:
    """More than are sent at once, and no rest that would follow: the canary guards itself."""
    die, dies = ("die", "dies") if staff else ("fail", "fails")
    over = f"more than {number(plan.canary_failures)} {die} again" if plan.canary_failures else f"one {dies} again"
    return f"All {number(n)} are the canary.", f"As soon as {over}, nothing further is sent and you see why."


def _sent(n: int, plan: PlanLike | None, *, staff: bool) -> Step:
    one = n == 1
    queues = "goes back to its queue" if one else "go back to their queues"
    if not staff:
        return f"{number(n)} {queues}.", "No more run at once than you may run anyway."
    whose = "Its" if one else "Each"
    how = f"{_pace(n, plan, staff=True)}; ".capitalize() if plan is not None and n > max(1, plan.canary) else ""
    whose = whose.lower() if how else whose
    return f"{number(n)} {queues}.", f"{how}{whose} tenant stays under its own cap, and no other tenant waits for it."


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
