"""The limits as their page shows them, and what of them the overview tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobops.contracts.declared_limits import Limit
from jobops.limits.errors import UnknownName
from jobops.limits.reading import LimitRow, Limits, read_limits
from jobops.limits.targets import EVERYTHING, Kind, Target, find, known_names
from jobops.runtime import get_engine
from jobops.runtime.brakes import Brake, read_brakes
from jobops.web import charts
from jobops.web.limit_words import looks_of, rate_words
from jobops.web.selectors.reach import reading_redis
from jobops.web.words import Look

MOST_CHOICES = 500


@dataclass(frozen=True, slots=True)
class LimitLine:
    """A row of the page. ``looks``: all that holds its jobs back. ``bar``: in flight of its concurrency; None: there is
    none. ``rate``: in words. ``brake``: what the job said that put the brake on, and which one that is."""

    row: LimitRow
    on: str
    looks: Sequence[Look]
    bar: charts.Bar | None
    rate: str
    declared: str
    job_type: str = ""
    brake: Brake | None = None

    @property
    def is_full(self) -> bool:
        """Whether no more of it may run at once."""
        most = self.row.limit.concurrency
        return most is not None and self.row.view.inflight >= most


@dataclass(frozen=True, slots=True)
class LimitsPage:
    """All of them; ``chosen``: what the person wants to change, with its line, if it has one."""

    found: Limits
    lines: Sequence[LimitLine]
    chosen: Target | None
    line: LimitLine | None
    choices: Sequence[tuple[str, str]]

    @property
    def chosen_key(self) -> str:
        """What the forms name it by."""
        return key_of(self.chosen) if self.chosen is not None else ""


def limits_page(on: str) -> LimitsPage:
    """The page; ``on``: what is chosen, as ``key_of`` writes it. Raises ``redis.RedisError``."""
    with reading_redis():
        found = read_limits(get_engine(), who_waits=True)
        brakes = read_brakes([row.view for row in found.braked])
    lines = [_line(row, brakes.get(row.view.name)) for row in found.rows]
    chosen = chosen_of(on)
    line = next((line for line in lines if line.row.target == chosen), None)
    return LimitsPage(found, lines, chosen, line, _choices() if chosen is None else ())


def key_of(target: Target) -> str:
    """How a form or an address names a target: ``resource:stripe``, ``type:mail.send``, ``all:``."""
    return f"{target.kind}:{target.name}"


def chosen_of(on: str) -> Target | None:
    """The target of this key; None for none and for one that is not known."""
    try:
        return target_of(on)
    except UnknownName:
        return None


def target_of(on: str) -> Target:
    """The target of this key. Raises UnknownName."""
    kind, _, name = on.partition(":")
    kinds: dict[str, Kind] = {"type": "type", "resource": "resource", "all": "all"}
    if kind not in kinds:
        raise UnknownName("", on, ())
    return EVERYTHING if kind == "all" else find(name, kinds[kind])


def fields_of(line: LimitLine | None) -> tuple[str, str]:
    """What the form of a change begins with: the concurrency and the rate that are in force."""
    limit = line.row.limit if line is not None else Limit()
    return ("" if limit.concurrency is None else str(limit.concurrency), str(limit.rate) if limit.rate else "")


def _line(row: LimitRow, brake: Brake | None) -> LimitLine:
    most, running = row.limit.concurrency, row.view.inflight
    full = most is not None and running >= most
    bar = None
    if most is not None:
        bar = charts.bar(running, most, f"{running} of {most} running", tone="warn" if full else "mark")
    declared = row.declared.limit if row.declared is not None else None
    return LimitLine(
        row=row,
        on=key_of(row.target),
        looks=looks_of(row),
        bar=bar,
        rate=rate_words(row.limit.rate),
        declared="nothing" if declared is not None and not declared else str(declared) if declared else "",
        job_type=row.target.name if row.target.kind == "type" else "",
        brake=brake,
    )


def _choices() -> list[tuple[str, str]]:
    """Every job type and resource there is, resources first."""
    types, resources = known_names()
    found = [(f"resource:{name}", f"{name} (resource)") for name in sorted(resources)]
    return (found + [(f"type:{name}", name) for name in sorted(types)])[:MOST_CHOICES]
