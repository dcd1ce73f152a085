"""Batches: what became of their members."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jobops.engine.commands import Commands

Told = Literal["succeeded", "discarded", "cancelled", "lost", "dead", "dropped", "withdrawn"]
Place = Literal["left", "dead", "dropped"]
_ID = re.compile(rb"[A-Za-z0-9_-]{1,64}")
CHUNK = 500
"""Members told of, cancelled or read in one step."""


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """How a batch stands in Redis. ``left``: members that wait or run; ``dead``: their letter is to be drained;
    ``dropped``: a person discarded their letter; ``lost``: nothing is known of them any more.

    ``changed_us``: when it changed last, if that is still to be told (``batch_ack``), else None.
    """

    left: int = 0
    dead: int = 0
    dropped: int = 0
    succeeded: int = 0
    discarded: int = 0
    cancelled: int = 0
    coalesced: int = 0
    lost: int = 0
    changed_us: int | None = None

    @property
    def known(self) -> int:
        """How many members Redis knows of."""
        return self.left + self.dead + self.over

    @property
    def over(self) -> int:
        """How many are over for good."""
        ended = self.succeeded + self.discarded + self.cancelled + self.coalesced + self.lost
        return ended + self.dropped


class BatchCommands(Commands):
    """Batches: what became of their members."""

    def batch_states(self, batches: Sequence[str]) -> list[BatchCounts | Exception]:
        """How each stands, in one round trip; an error stands in the place of one that cannot be read. Changes
        nothing."""
        answers = self._pipeline("batch_state", [(batch,) for batch in batches])
        return [answer if isinstance(answer, Exception) else _counts(answer) for answer in answers]

    def batch_state(self, batch: str) -> BatchCounts:
        """How one stands. Changes nothing."""
        return _counts(self._call("batch_state", batch))

    def batch_tell(self, batch: str, how: Told, members: Sequence[str]) -> int:
        """Says how members ended that Redis was not told of. Answers of how many that was news."""
        return sum(
            int(self._call("batch_tell", batch, how, *members[start : start + CHUNK]))
            for start in range(0, len(members), CHUNK)
        )

    def batch_ack(self, batch: str, changed_us: int) -> bool:
        """What had changed by then is in the database. False: it has changed since, and stays to be told."""
        return bool(self._call("batch_ack", batch, changed_us))

    def batch_forget(self, batch: str) -> int:
        """Forgets a batch that is over. Answers how many keys of it there were."""
        return int(self._call("batch_forget", batch))

    def batch_touch(self, batch: str) -> None:
        """Has the batch looked at, as if it had changed now."""
        seconds, micros = self.redis.time()
        self.redis.zadd(self.keys.batches(), {batch: int(seconds) * 1_000_000 + int(micros)})

    def batches_changed(self, limit: int = 100) -> list[str]:
        """The batches of which something is to be told, the one that changed first in front.

        Somebody else's members, which can be no batch's id, are thrown away, or they would stand in front for ever.
        """
        members: Any = self.redis.zrange(self.keys.batches(), 0, max(1, limit) - 1)
        garbage = [member for member in members if not _ID.fullmatch(member)]
        if garbage:
            self.redis.zrem(self.keys.batches(), *garbage)
        return [member.decode() for member in members if member not in garbage]

    def batch_members(self, batch: str, place: Place, cursor: int = 0, count: int = CHUNK) -> tuple[int, list[str]]:
        """About ``count`` members that stand there, and where to go on; 0: that was all. Changes nothing."""
        members: Any
        following, members = self.redis.sscan(self.keys.batch(batch, place), cursor=cursor, count=count)
        return int(following), [member.decode(errors="backslashreplace") for member in members]

    def came(self, job_ids: Sequence[str]) -> set[str]:
        """Those of these jobs that came in within the last day, also if they were coalesced. Changes nothing."""
        found: set[str] = set()
        for start in range(0, len(job_ids), CHUNK):
            chunk = job_ids[start : start + CHUNK]
            marks: Any = self.redis.mget([self.keys.pushed(job_id) for job_id in chunk])
            found.update(job_id for job_id, mark in zip(chunk, marks, strict=True) if mark is not None)
        return found

    def cancel_many(self, job_ids: Sequence[str], tenant: str, *, ttl_s: int = 86_400) -> int:
        """Ends those of the tenant's jobs that wait or are delayed, in one round trip. Answers how many."""
        answers = self._pipeline("cancel", [(job_id, tenant, "", "", ttl_s) for job_id in job_ids])
        failed = next((answer for answer in answers if isinstance(answer, Exception)), None)
        if failed is not None:
            raise failed
        return sum(answer[0] == b"cancelled" for answer in answers)


def _counts(answer: Sequence[Any]) -> BatchCounts:
    changed, left, dead, dropped, ended = answer
    by_how = {how.decode(): _whole(count) for how, count in _pairs(ended)}
    return BatchCounts(
        left=left,
        dead=dead,
        dropped=dropped,
        **{how: by_how.get(how, 0) for how in ("succeeded", "discarded", "cancelled", "coalesced", "lost")},
        changed_us=int(float(changed)) if changed else None,
    )


def _pairs(flat: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _whole(text: bytes) -> int:
    return int(text) if text.isdigit() else 0
