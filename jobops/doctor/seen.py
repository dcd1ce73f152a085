"""Which job ids were met, in eight bytes each: millions of them must fit into memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from hashlib import blake2b
from itertools import pairwise

PARTS = 256


class SeenIds:
    """Ids by their digest. To be filled first, then closed, then asked.

    Two ids with one digest are as likely as a memory fault; all that follows is that one fault is not told.
    """

    def __init__(self) -> None:
        self._parts = [array("Q") for _ in range(PARTS)]
        self._twice: set[int] = set()

    def add(self, ids: Iterable[bytes]) -> None:
        """These were met, once more each."""
        for job_id in ids:
            digest = _digest(job_id)
            self._parts[digest % PARTS].append(digest)

    def close(self) -> None:
        """No more are added."""
        for place, part in enumerate(self._parts):
            ordered = sorted(part)  # a part at a time: a list needs more memory than an array
            self._twice.update(one for one, other in pairwise(ordered) if one == other)
            self._parts[place] = array("Q", ordered)

    def count(self, job_id: bytes) -> int:
        """How often it was met: 0, 1, or 2 for more than once."""
        digest = _digest(job_id)
        if digest in self._twice:
            return 2
        part = self._parts[digest % PARTS]
        place = bisect_left(part, digest)
        return int(place < len(part) and part[place] == digest)


def _digest(job_id: bytes) -> int:
    return int.from_bytes(blake2b(job_id, digest_size=8).digest(), "little")
