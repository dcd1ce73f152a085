"""Watched jobs: replays, whose end somebody waits for. What became of them, and taking note of it exactly once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from jobops.engine.commands import Commands
from jobops.engine.records import Fate, FateState, JobOutcome, OutcomeWord

BATCH = 500
"""Ids or keys asked for in one step."""

_WORDS = ("succeeded", "discarded", "cancelled", "coalesced")


class WatchCommands(Commands):
    """Ends of watched jobs, what became of any job, and who holds a key."""

    def outcome_batch(self, limit: int = 500) -> list[JobOutcome]:
        """The oldest ends of watched jobs that the database does not have yet (deaths: `dead_batch`). Changes nothing.

        What is no outcome of ours is answered as ``garbage``, so that it can be removed like the others.
        """
        members: Any = self.redis.zrange(self.keys.outcomes(), 0, max(1, limit) - 1)
        return [_outcome(member) for member in members]

    def outcome_ack(self, members: Sequence[str]) -> int:
        """Removes exactly these outcomes, which are committed. Answers how many were there still."""
        return int(self._call("outcome_ack", *map(_raw, members))) if members else 0

    def fates(self, ids: Sequence[str]) -> dict[str, Fate]:
        """What became of each of these jobs. Each is read at one instant; changes nothing."""
        found: dict[str, Fate] = {}
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            found |= dict(zip(batch, map(_fate, self._call("fate", *batch)), strict=True))
        return found

    def key_holders(self, keys: Sequence[tuple[str, str, str]]) -> list[str | None]:
        """For each (tenant, job type, key) the id of the live job that holds the key, or None. Changes nothing."""
        holders: list[str | None] = []
        for start in range(0, len(keys), BATCH):
            flat = [part for key in keys[start : start + BATCH] for part in key]
            holders += [answer.decode() or None for answer in self._call("key_holders", *flat)]
        return holders


def _raw(member: str) -> bytes:
    # What `_outcome` made of it, back to the same bytes, whatever they were.
    return member.encode(errors="surrogateescape")


def _outcome(raw: bytes) -> JobOutcome:
    member = raw.decode(errors="surrogateescape")
    try:
        told = json.loads(raw)
        if told["outcome"] not in _WORDS or not told["id"]:
            raise ValueError("no outcome")
        texts = {name: _clean(told[name]) for name in ("id", "replay_of", "error_class", "error", "into")}
        return JobOutcome(
            member=member,
            outcome=cast(OutcomeWord, told["outcome"]),
            attempt=max(0, min(int(told["attempt"]), 2**31 - 1)),
            at_ms=max(0, min(int(told["at"]), 2**53)),
            **texts,
        )
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return JobOutcome(member, id="", replay_of="", outcome="garbage")


def _clean(value: object) -> str:
    return str(value).encode(errors="backslashreplace").decode()


def _fate(answer: Sequence[Any]) -> Fate:
    state, pending, attempt, error_class, error = answer
    return Fate(
        state=cast(FateState, state.decode()),
        attempt=int(attempt),
        error_class=error_class.decode(errors="replace"),
        error=error.decode(errors="replace"),
        pending=pending == 1,
    )
