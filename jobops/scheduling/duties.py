"""A duty: something the leading scheduler does again and again. Each is right when two processes do it at once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from jobops.engine.client import Engine

log = logging.getLogger("jobops.scheduler")

MAX_PAUSE_S = 30.0


@dataclass(frozen=True, slots=True)
class Context:
    """What a duty gets: the engine, and whether the process wants to stop (look between batches)."""

    engine: Engine
    stopping: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Duty:
    """``run`` does one bounded portion and answers how much it did, 0 when nothing is left for now.

    ``every_s``: seconds between two runs; an ``eager`` one is asked again at once as long as it found something.
    """

    name: str
    run: Callable[[Context], int]
    every_s: float
    eager: bool = True


@dataclass(slots=True)
class Agenda:
    """Which duty is due when. A duty that fails waits longer each time and never stops the others."""

    duties: Sequence[Duty]
    clock: Callable[[], float] = time.monotonic
    _due: dict[str, float] = field(default_factory=dict)
    _failures: dict[str, int] = field(default_factory=dict)

    def run_due(self, context: Context, between: Callable[[], bool] = lambda: True) -> dict[str, int | Exception]:
        """Run each duty that is due, once. ``between`` is asked before each: False ends the round.

        Answers, for those that ran, what they did or why they failed.
        """
        results: dict[str, int | Exception] = {}
        for duty in self.duties:
            if self.clock() >= self._due.get(duty.name, 0.0):
                if not between():
                    break
                results[duty.name] = self._run(duty, context)
        return results

    def run_all(self, context: Context, rounds: int = 10_000) -> dict[str, int | Exception]:
        """Run each duty until it finds nothing more; answers what each did or why it failed."""
        results: dict[str, int | Exception] = {}
        for duty in self.duties:
            total = 0
            for _ in range(rounds):
                done = self._run(duty, context)
                if isinstance(done, Exception):
                    results[duty.name] = done
                    break
                total += done
                results[duty.name] = total
                if not done or context.stopping():
                    break
        return results

    def wait_s(self, at_most: float) -> float:
        """Seconds until the next duty is due, within [0, at_most]."""
        now = self.clock()
        return max(0.0, min([at_most, *(self._due.get(duty.name, 0.0) - now for duty in self.duties)]))

    def _run(self, duty: Duty, context: Context) -> int | Exception:
        try:
            done = duty.run(context)
        except Exception as error:
            failures = self._failures[duty.name] = self._failures.get(duty.name, 0) + 1
            pause = min(MAX_PAUSE_S, duty.every_s * 2.0 ** min(failures, 10))
            self._due[duty.name] = self.clock() + pause
            # The first failure tells where; repetitions of an outage would only fill the log.
            log.error(
                "duty %s failed (%d in a row), next try in %.1f s: %s: %s",
                duty.name, failures, pause, type(error).__name__, error, exc_info=failures == 1,
            )  # fmt: skip
            return error
        if self._failures.pop(duty.name, 0):
            log.info("duty %s works again", duty.name)
        self._due[duty.name] = self.clock() + (0.0 if done and duty.eager else duty.every_s)
        return done
