"""Where Redis does not hold what must be in force, and putting that right: for the scheduler's duty and the doctor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from jobops.contracts.discovery import import_faults
from jobops.engine.client import Engine
from jobops.engine.gates import GateView
from jobops.limits import pushing
from jobops.limits.in_force import Wanted, wanted_and_there
from jobops.limits.targets import of_gate


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference. ``gate`` empty: of the pause of everything. ``text``: what is wrong, for people.

    ``what``: ``undeclared`` is a resource that jobs wait for and nobody limits: it is not known to Redis.
    """

    gate: str
    what: Literal["pause", "limit", "undeclared"]
    text: str

    def mend(self, engine: Engine) -> bool:
        """Put it right, as things stand by now; False: nothing was to be done. Raises ``redis.RedisError``."""
        if self.what == "undeclared":
            return pushing.make_known(engine, self.gate)
        if self.what == "limit":
            return pushing.push_limit(engine, self.gate)
        if self.gate:
            pushing.push_pauses(engine, [self.gate])
        else:
            pushing.push_everything_paused(engine)
        return True


def drifts(engine: Engine) -> list[Drift]:
    """All differences; what is declared first, as undeclared resources are let go only when that is in force.

    Raises ``redis.RedisError`` and ``django.db.Error``.
    """
    all_paused = engine.scripts.is_paused()  # before the rows, as all of Redis
    must, views = wanted_and_there(engine)
    found: list[Drift] = []
    if all_paused != (must.everything is not None):
        found.append(Drift("", "pause", _pause_text("everything", all_paused)))
    paused = must.paused_gates()
    for view in views.values():
        found += _of_gate(view, must, view.name in paused)
    return [*found, *_undeclared(list(views.values()), must)]


def _of_gate(view: GateView, must: Wanted, paused: bool) -> Iterator[Drift]:
    if view.paused != paused:
        yield Drift(view.name, "pause", _pause_text(str(of_gate(view.name)), view.paused))
    limit = must.limit(view.name)
    if limit is not None and pushing.differs(view, limit):
        yield Drift(view.name, "limit", f"Redis has another limit of {of_gate(view.name)} than is in force")


def _undeclared(views: Sequence[GateView], must: Wanted) -> Iterator[Drift]:
    if import_faults():
        return  # a module that cannot be imported here may declare it
    for view in views:
        if not view.known and view.waiting and of_gate(view.name).kind == "resource" and must.limit(view.name) is None:
            jobs = f"{view.waiting:,} {'job waits' if view.waiting == 1 else 'jobs wait'}"
            text = f"{jobs} for resource {view.name}, which no contract declares any more"
            yield Drift(view.name, "undeclared", text)


def _pause_text(what: str, paused: bool) -> str:
    return f"Redis has {what} paused, and nobody paused it" if paused else f"Redis runs {what}, which is paused"
