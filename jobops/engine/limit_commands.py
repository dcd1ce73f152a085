"""Limits and pauses of gates: resources, and job types by `jobops.engine.gates.type_gate`."""

from __future__ import annotations

import re
from typing import Any, cast

from jobops.engine.commands import Commands
from jobops.engine.errors import InvalidJob
from jobops.engine.rates import Rate
from jobops.engine.validation import RESOURCE_PATTERN

MOST_CONCURRENCY = 1_000_000
_GATE = re.compile(rf"{RESOURCE_PATTERN}|type:[^:\x00-\x1f\ud800-\udfff]{{1,200}}")


class LimitCommands(Commands):
    """What holds for all who have to pass a gate, whatever tenant they are of. All raise InvalidJob on a bad name."""

    def set_limit(self, gate: str, concurrency: int | None, rate: Rate | None) -> None:
        """Puts a gate's limits in force; None: any number. It is known from then on, and a resource's jobs start.

        A lowered concurrency stops nobody who runs. Raises InvalidJob on a bad value.
        """
        check_gate(gate)
        if concurrency is not None and not (type(concurrency) is int and 0 <= concurrency <= MOST_CONCURRENCY):
            raise InvalidJob("concurrency", f"{concurrency!r} must be a whole number from 0 to {MOST_CONCURRENCY:,}")
        count, per_ms = (rate.count, rate.per_ms) if rate else ("", "")
        self._call("set_limit", gate, "" if concurrency is None else concurrency, count, per_ms)

    def drop_limit(self, gate: str) -> bool:
        """Forgets a gate's limits, not its pause or brake. A resource's jobs then wait until somebody sets them anew.

        False: none were known.
        """
        check_gate(gate)
        return bool(self._call("drop_limit", gate))

    def pause_gate(self, gate: str) -> bool:
        """After this returns nothing starts that has to pass the gate. Running jobs go on. False: it was so already."""
        check_gate(gate)
        return bool(self._call("pause_gate", gate, 1))

    def resume_gate(self, gate: str) -> bool:
        """Lets them start again, as far as the gate's limits and brake do. False: it was not paused."""
        check_gate(gate)
        return bool(self._call("pause_gate", gate, 0))

    def release_gate(self, gate: str) -> bool:
        """Takes the brake off that a job put on. False: there was none."""
        check_gate(gate)
        return bool(self._call("release_gate", gate))

    def gates(self, *names: str) -> list[Any]:
        """As `gates.lua` tells them; without names every gate there is. `jobops.engine.gates.read_gates` reads that."""
        return cast(list[Any], self._call("gates", *names))


def check_gate(gate: str) -> None:
    """Raises InvalidJob unless ``gate`` is the name of a resource, or "type:" and that of a job type."""
    if not (isinstance(gate, str) and _GATE.fullmatch(gate)):
        raise InvalidJob(
            "gate", f"{ascii(gate)[:80]} must be a resource (1 to 50 of a-z, 0-9, '_', '.' and '-') or type:<job type>"
        )
