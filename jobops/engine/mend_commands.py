"""Where jobs' ids stand, and putting them where they belong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jobops.engine.commands import Commands
from jobops.engine.keys import split_queue
from jobops.engine.records import Reconciled, Whereabouts

WHEREABOUTS_BATCH = 50
"""Ids looked for in one step: each costs a walk through its queue."""


class MendCommands(Commands):
    """Looking for, and repairing, what outsiders, a restore or a write that was cut off left wrong."""

    def reconcile(self, queue: str, limit: int = 1000) -> Reconciled:
        """Repairs one queue: leaseless running jobs, ring and active entries, what waits at gates. Raises ValueError on
        a foreign name."""
        tenant, lane = split_queue(queue)
        return Reconciled(*self._call("reconcile", tenant, lane, limit))

    def whereabouts(self, ids: Sequence[str], queues: Sequence[str] = ()) -> list[Whereabouts]:
        """Everywhere that these ids stand, in the order asked, each at one instant. ``queues`` are looked into besides
        each job's own. Changes nothing."""
        found: list[Whereabouts] = []
        for start in range(0, len(ids), WHEREABOUTS_BATCH):
            batch = ids[start : start + WHEREABOUTS_BATCH]
            found += [_whereabouts(answer) for answer in self._call("whereabouts", len(queues), *queues, *batch)]
        return found

    def mend(self, job_id: str, has_letter: bool, queues: Sequence[str] = ()) -> str:
        """Puts the job where its status says that it belongs, and nowhere else. Answers what was done, in words; ""
        when nothing was wrong (any more).

        ``has_letter``: whether its death is in the database; without, a dead job that the intake does not have goes
        back there. ``queues`` are looked into besides its own.
        """
        done = self._call("mend", job_id, int(has_letter), *queues)
        return ", ".join(text.decode(errors="backslashreplace") for text in done)


def _whereabouts(answer: Sequence[Any]) -> Whereabouts:
    job_id, status, tenant, lane, lists, lease, lease_hash, delayed, dead, inflight, wip, waiting, held, waits = answer
    stands = dict(zip(_texts(lists[::2]), lists[1::2], strict=True))
    return Whereabouts(
        id=_text(job_id),
        status=_text(status),
        tenant=_text(tenant),
        lane=_text(lane),
        in_queues=tuple(sorted(stands)),
        queue_count=sum(stands.values()),
        lease=lease == 1,
        lease_hash=lease_hash == 1,
        delayed=delayed == 1,
        dead=tuple(_texts(dead)),
        inflight=inflight == 1,
        wip=wip == 1,
        waiting=tuple(_texts(waiting)),
        held=held == 1,
        waits=_text(waits),
    )


def _texts(values: Sequence[bytes]) -> Iterator[str]:
    return (_text(value) for value in values)


def _text(value: bytes) -> str:
    return value.decode(errors="backslashreplace")
