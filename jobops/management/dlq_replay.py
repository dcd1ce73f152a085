"""How ``manage.py dlq replay`` is to run: its options, read as the page's form reads them."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from dlq.replay_plan import PlanOptions, parse_options
from jobops.management.base import Usage
from jobops.management.option_types import TIME

_OPTIONS = {
    "rate": "--rate", "in_flight": "--in-flight", "lane": "--lane", "spread_s": "--spread", "start_at": "--start-at",
    "canary": "--canary", "canary_failures": "--canary-failures", "breaker_percent": "--breaker",
    "breaker_window": "--breaker-of",
}  # fmt: skip


def add_plan(parser: ArgumentParser) -> None:
    """Options that say how a replay runs. What is not given is as on the page: safe."""
    parser.add_argument("--rate", metavar="N/s", help="starts in so much time, such as 50/s; none: no limit (20/s)")
    parser.add_argument("--spread", dest="spread_s", metavar="TIME", help="over so long, such as 1h; instead of a rate")
    parser.add_argument("--in-flight", metavar="N", help="at most so many of its jobs at once (any number)")
    parser.add_argument("--lane", metavar="LANE", help="in this lane; `as-died`: where each died (the lowest one)")
    parser.add_argument("--start-at", metavar="TIME", help=f"not before this time: {TIME}")
    canary = parser.add_mutually_exclusive_group()
    canary.add_argument("--canary", metavar="N", help="so many run first, and stop it if they fail (5)")
    canary.add_argument("--no-canary", dest="canary", action="store_const", const="0", help="none runs first")
    parser.add_argument("--canary-failures", metavar="N", help="so many of the canary may fail (0)")
    parser.add_argument("--breaker", dest="breaker_percent", metavar="PERCENT", help="more that fail stop it (5)")
    parser.add_argument("--breaker-of", dest="breaker_window", metavar="N", help="of so many newest ends (100)")
    parser.add_argument("--any-order", action="store_true", help="those with a key in common need not go in turn")
    parser.add_argument("--wait", action="store_true", help="until every member was sent, or it was stopped")


def plan_asked(options: dict[str, Any]) -> PlanOptions:
    """The plan that the options ask for. Raises ``Usage``."""
    given = {name: options[name] for name in _OPTIONS if options.get(name) is not None}
    if given.get("lane") == "as-died":
        given["lane"] = ""
    if options.get("any_order"):
        given["in_order"] = "no"
    if "spread_s" in given and "rate" in given:
        raise Usage("dlq replay: give either --rate or --spread")
    plan, faults = parse_options(given)
    for name, problem in faults.items():
        raise Usage(f"{_OPTIONS.get(name, 'dlq replay')}: {problem}")
    return plan
