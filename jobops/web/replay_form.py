"""The form that says how a replay runs: what stands in its fields, and what was asked for with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from django.utils import timezone

from dlq.replay_plan import DEFAULTS, PlanOptions, parse_options
from jobops.web.formats import plain

MARK = "options"
"""Says that the form was sent: a box that is not ticked sends nothing."""
TEXTS = (
    "canary", "canary_failures", "rate", "in_flight", "lane", "spread_s", "start_at", "breaker_percent",
    "breaker_window",
)  # fmt: skip
LONGEST = 40
LABELS = {
    "canary": "Canary",
    "canary_failures": "Canary, failures",
    "rate": "Speed",
    "in_flight": "In flight",
    "lane": "Lane",
    "spread_s": "Spread over",
    "start_at": "Start at",
    "breaker_percent": "Breaker",
    "breaker_window": "Breaker, of the last",
    "in_order": "Order",
}
MORE = ("spread_s", "start_at", "in_order", "breaker_window")
"""What stands under "More options"."""


@dataclass(frozen=True, slots=True)
class Asked:
    """``plan``: what was asked for, safe where nothing was, or nothing that is right. ``faults``: field → what would
    be right. ``typed``: what stands in the fields."""

    plan: PlanOptions = DEFAULTS
    faults: Mapping[str, str] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_default(self) -> bool:
        """Whether it is what it is for whoever touches nothing."""
        plan = replace(self.plan, lane=None) if self.plan.lane_name == DEFAULTS.lane_name else self.plan
        return plan == DEFAULTS and not self.faults

    @property
    def has_more(self) -> bool:
        """Whether something under "More options" is not as it was."""
        return any(name in self.faults or getattr(self.plan, name) != getattr(DEFAULTS, name) for name in MORE)

    @property
    def problems(self) -> Sequence[tuple[str, str]]:
        """The faults for people: which field, what would be right."""
        return [(LABELS.get(name, name), problem) for name, problem in self.faults.items()]


def asked_for(params: Mapping[str, str], *, staff: bool) -> Asked:
    """What a form or an address asks for. A tenant's people choose nothing of the machine: theirs runs safely."""
    if not staff or not params.get(MARK):
        return Asked(typed=_typed(DEFAULTS))
    sent = {name: params[name][:LONGEST] for name in TEXTS if name in params}
    sent["in_order"] = "1" if params.get("in_order") else "0"
    # A speed and a span say two things at once: who names a span means that.
    read = {name: text for name, text in sent.items() if name != "rate" or not sent.get("spread_s", "").strip()}
    plan, faults = parse_options(read)
    return Asked(plan, faults, _typed(DEFAULTS) | sent)


def query_of(params: Mapping[str, str]) -> str:
    """The same as an address, so that the page can show what was typed."""
    kept = {name: params[name][:LONGEST] for name in (MARK, *TEXTS, "in_order", "begin") if name in params}
    return urlencode(kept)


def _typed(plan: PlanOptions) -> dict[str, str]:
    at = timezone.localtime(plan.start_at).strftime("%Y-%m-%dT%H:%M") if plan.start_at else ""
    return {
        "canary": str(plan.canary),
        "canary_failures": str(plan.canary_failures),
        "rate": "" if plan.rate is None else plain(plan.rate),
        "in_flight": "" if plan.in_flight is None else str(plan.in_flight),
        "lane": plan.lane_name,
        "spread_s": "" if plan.spread_s is None else str(plan.spread_s),
        "start_at": at,
        "breaker_percent": plain(plan.breaker_percent),
        "breaker_window": str(plan.breaker_window),
        "in_order": "1" if plan.in_order else "0",
    }
