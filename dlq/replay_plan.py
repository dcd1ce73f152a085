"""How a replay of many is to run, as a person chooses it: read from a form or a command, checked, and stored.

The defaults are safe: a canary of five, then twenty a second, in the lowest lane.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from dlq.errors import InvalidAction
from dlq.filters import LetterFilter
from dlq.models import BulkAction, DeadLetter, ReplayPlan
from jobops.contracts import durations
from jobops.contracts.config import config
from jobops.engine.rates import RATE_HINT, parse_rate

MOST_RATE, LEAST_RATE = 100_000.0, 0.001
MOST_COUNT = 1_000_000
MOST_WINDOW = 10_000
LEAST_WINDOW = 10
"""The smallest window of the breaker: one bad end of two says little."""
LONGEST_SPREAD, LATEST_START = timedelta(days=7), timedelta(days=30)

LONGEST_CHOSEN = 500
"""A filter that is as long may have been cut off."""

NONE = ("", "none")
YES, NO = ("1", "yes", "on", "true"), ("0", "no", "off", "false")


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """``rate``: starts a second; None: as fast as it goes. ``in_flight``: most of its jobs at once; None: any number.
    ``lane``: None: the lowest one; empty: the one that each letter died in. ``spread_s``: seconds to spread it over,
    instead of a rate. ``canary``: how many run first, 0 for none; more than ``canary_failures`` of them that fail stop
    it. More than ``breaker_percent`` of the ``breaker_window`` newest ends that failed stop it too; 100 for never.
    ``in_order``: those with a key in common one after the other."""

    rate: float | None = 20.0
    in_flight: int | None = None
    lane: str | None = None
    spread_s: int | None = None
    start_at: datetime | None = None
    canary: int = 5
    canary_failures: int = 0
    breaker_window: int = 100
    breaker_percent: float = 5.0
    in_order: bool = True

    @property
    def lane_name(self) -> str:
        """The lane as it is stored: a name, or empty for the one that each letter died in."""
        return config().lanes[-1] if self.lane is None else self.lane


DEFAULTS = PlanOptions()

AT_ONCE = PlanOptions(rate=None, lane="", canary=0, breaker_percent=100.0)
"""Without a canary, a limit or a breaker."""


def parse_options(params: Mapping[str, str]) -> tuple[PlanOptions, dict[str, str]]:
    """The options that a form or a command asks for, and what is wrong with them: field → what would be right.

    What is not given is as in ``DEFAULTS``, and so is what is wrong. Empty or ``none``: no rate, no limit, no spread,
    at once. ``lane``: empty for the one that each letter died in. ``start_at``: ISO 8601, in the current time zone
    unless it says another. Never raises.
    """
    values: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for field in fields(PlanOptions):
        if field.name not in params:
            continue
        try:
            values[field.name] = _READ[field.name](str(params[field.name]).strip())
        except ValueError as error:
            faults[field.name] = str(error)
    faults = {**faults_of(PlanOptions(**values)), **faults}
    return PlanOptions(**{name: value for name, value in values.items() if name not in faults}), faults


def faults_of(options: PlanOptions) -> dict[str, str]:
    """What is wrong with the options: field → what would be right. Empty if nothing is."""
    faults: dict[str, str] = {}

    def check(name: str, good: bool, problem: str) -> None:
        if not good:
            faults.setdefault(name, problem)

    rate, now = options.rate, timezone.now()
    check("rate", rate is None or LEAST_RATE <= rate <= MOST_RATE, f"must be {LEAST_RATE} to {MOST_RATE:,.0f} a second")
    check("in_flight", options.in_flight is None or 1 <= options.in_flight <= MOST_COUNT, _between(1, MOST_COUNT))
    lanes = config().lanes
    check("lane", options.lane_name in ("", *lanes), f"there is no such lane; there are {', '.join(lanes)}")
    longest = int(LONGEST_SPREAD.total_seconds())
    check("spread_s", options.spread_s is None or 1 <= options.spread_s <= longest, "must be 1 second to 7 days")
    latest = options.start_at is None or options.start_at <= now + LATEST_START
    check("start_at", latest, f"must be within {LATEST_START.days} days")
    check("canary", 0 <= options.canary <= MOST_COUNT, _between(0, MOST_COUNT))
    fewer = options.canary_failures >= 0 and (not options.canary or options.canary_failures < options.canary)
    check("canary_failures", fewer, f"must be fewer than the canary's {options.canary}, or nothing would stop it")
    window = LEAST_WINDOW <= options.breaker_window <= MOST_WINDOW
    check("breaker_window", window, _between(LEAST_WINDOW, MOST_WINDOW))
    check("breaker_percent", 0 <= options.breaker_percent <= 100, "must be 0 to 100, where 100 never stops it")
    return faults


def plan_write(bulk: BulkAction, options: PlanOptions) -> ReplayPlan:
    """Store how the replay is to run, instead of what was stored. Raises ``InvalidAction`` for the first fault."""
    for name, problem in faults_of(options).items():
        raise InvalidAction(name, problem)
    values = {field.name: getattr(options, field.name) for field in fields(PlanOptions)}
    values["lane"] = options.lane_name
    if options.start_at is not None:
        # PostgreSQL takes no offset of many hours.
        values["start_at"] = options.start_at.astimezone(UTC)
    if options.spread_s is not None:
        values["rate"] = None
    values["phase"] = ReplayPlan.Phase.CANARY if options.canary else ReplayPlan.Phase.REST
    plan, _ = ReplayPlan.objects.update_or_create(bulk=bulk, defaults=values)
    return plan


def plan_draft(bulk: BulkAction, options: PlanOptions | None, newest: int) -> ReplayPlan:
    """The plan of a replay whose members were just fixed. ``newest``: the newest letter when they were."""
    plan = plan_write(bulk, options or DEFAULTS)
    plan.group_id = _cause_asked(bulk.chosen) or _cause_of_all(bulk)
    plan.newest_letter = newest
    plan.save()
    return plan


def _cause_asked(chosen: str) -> int | None:
    """The one cause that the filter asks for: then all members are of it, however many."""
    asked, faults = LetterFilter.parse(dict(parse_qsl(chosen)))
    whole = len(chosen) < LONGEST_CHOSEN
    return int(asked.group) if whole and not faults and asked.group.isdigit() else None


def _cause_of_all(bulk: BulkAction) -> int | None:
    # In the order of the letters, as the index has them: the first is read off it, and the next of another cause.
    members = bulk.members.order_by("letter")
    first = members.values_list("letter__group_id", flat=True).first()
    of_others = members.exclude(letter__group_id=first) if first is not None else None
    return first if of_others is not None and not of_others[:1] else None


def newest_letter() -> int:
    """The number of the newest letter there is; 0 for none."""
    return DeadLetter.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def plan_of(bulk: BulkAction) -> ReplayPlan | None:
    """How it runs; None of what is no replay, and of a replay from before there were plans."""
    return ReplayPlan.objects.filter(pk=bulk.pk).first() if bulk.kind == BulkAction.Kind.REPLAY else None


def options_of(plan: ReplayPlan) -> PlanOptions:
    """The options that were stored."""
    return PlanOptions(**{field.name: getattr(plan, field.name) for field in fields(PlanOptions)})


def told_of(plan: ReplayPlan) -> dict[str, Any]:
    """How it runs, for the audit."""
    told: dict[str, Any] = {"canary": plan.canary, "lane": plan.lane or "as each died"}
    told |= {"rate": plan.rate} if plan.spread_s is None else {"spread_s": plan.spread_s}
    if plan.in_flight is not None:
        told["in_flight"] = plan.in_flight
    if plan.start_at is not None:
        told["start_at"] = plan.start_at.isoformat()
    return told


def _between(least: int, most: int) -> str:
    return f"must be a whole number, {least:,} to {most:,}"


def _rate(text: str) -> float | None:
    if text.lower() in NONE:
        return None
    try:
        rate = parse_rate(text).per_second if "/" in text else float(text)
    except ValueError:
        raise ValueError(f"{text!r} is no rate; {RATE_HINT}, or as a number of starts a second") from None
    return rate if rate == rate else -1.0  # not a number is no rate either


def _whole(least: int, most: int = MOST_COUNT) -> Callable[[str], int]:
    """Reads a whole number; says the bounds that it has afterwards, too."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise ValueError(f"{_between(least, most)}; not {text!r}")
        return int(text)

    return read


def _count_or_none(text: str) -> int | None:
    return None if text.lower() in NONE else _whole(1)(text)


def _percent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        raise ValueError(f"must be a number, 0 to 100; not {text!r}") from None
    return value if value == value else -1.0


def _span(text: str) -> int | None:
    if text.lower() in NONE:
        return None
    try:
        return int(durations.parse(int(text) if text.isascii() and text.isdigit() else text).total_seconds())
    except ValueError as error:
        raise ValueError(str(error)) from None


def _instant(text: str) -> datetime | None:
    if text.lower() in NONE:
        return None
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    no_time = f"{text!r} is no time; write it as 2026-12-24T18:00"
    if found is None:
        raise ValueError(no_time)
    found = timezone.make_aware(found) if timezone.is_naive(found) else found
    if found <= timezone.now():
        raise ValueError(f"{text!r} is past; leave it empty to start at once")
    try:
        return found.astimezone(UTC)
    except OverflowError:  # near the end of time there is no such instant
        raise ValueError(no_time) from None


def _yes(text: str) -> bool:
    if text.lower() not in (*YES, *NO):
        raise ValueError(f"must be yes or no; not {text!r}")
    return text.lower() in YES


_READ: dict[str, Callable[[str], Any]] = {
    "rate": _rate,
    "in_flight": _count_or_none,
    "lane": lambda text: text,
    "spread_s": _span,
    "start_at": _instant,
    "canary": _whole(0),
    "canary_failures": _whole(0),
    "breaker_window": _whole(LEAST_WINDOW, MOST_WINDOW),
    "breaker_percent": _percent,
    "in_order": _yes,
}
