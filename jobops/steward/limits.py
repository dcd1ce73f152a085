"""Limits and pauses: Redis gets what it lost or missed, and what a newer release declares.

The leading scheduler alone corrects what differs: see ``jobops.limits.in_force`` for who writes what.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from redis.exceptions import RedisError

from jobops.engine.errors import EngineError
from jobops.engine.link import is_away
from jobops.limits.drift import Drift, drifts
from jobops.scheduling.duties import Context

log = logging.getLogger("jobops.steward")


@dataclass(slots=True)
class Limits:
    """Keeps what it has told already, so that a gate that cannot be mended is not told again each time."""

    _broken: set[str] = field(default_factory=set)

    def run(self, context: Context) -> int:
        """Compare and put right; answers how much was. Raises ``redis.RedisError`` and ``django.db.Error``."""
        mended = 0
        for drift in drifts(context.engine):
            if context.stopping():
                break
            mended += self._mend(context, drift)
        return mended

    def _mend(self, context: Context, drift: Drift) -> bool:
        """One gate. What is wrong with its key alone is logged once, and the others go on."""
        try:
            mended = drift.mend(context.engine)
        except (RedisError, EngineError) as error:
            if is_away(error):
                raise
            if drift.gate not in self._broken:
                log.error("%s, and it cannot be put right: %s: %s", drift.text, type(error).__name__, error)
            self._broken.add(drift.gate)
            return False
        self._broken.discard(drift.gate)
        if mended:
            # A limit that differs is what each release with another one brings.
            level = logging.INFO if drift.what == "limit" else logging.WARNING
            log.log(level, "%s; %s", drift.text, _DONE[drift.what])
        return mended


_DONE = {"pause": "put right", "limit": "put right", "undeclared": "made known without a limit"}
