"""The board: what each slot is doing, in memory that supervisor, slots and warden share.

One fixed record per slot. Nobody locks: a slot writes its own half, the supervisor the other,
and readers recognise a half-written record and look again. A job that holds the interpreter lock,
a stopped process or a lost connection keep nobody from reading it, and nothing here costs a
system call.

Instants are nanoseconds of `clock.now_ns`.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

ID_BYTES: Final = 200
TOKEN_BYTES: Final = 64
NAME_BYTES: Final = 120

STRIDE: Final = 640
# Written by the slot: single words …
_REQUEST, _SUCCEEDED, _FAILED, _BUSY = 0, 1, 2, 3
# … and the lease, between two copies of a count that differ while it is being written.
_LEASE: Final = struct.Struct(f"=QQqqqqB{ID_BYTES}sB{TOKEN_BYTES}sQ")
_LEASE_AT: Final = 32
# Written by the supervisor.
_PID, _GENERATION, _ORDERS, _FENCE_SEQ, _FENCE = 50, 51, 52, 53, 54
_NAME: Final = struct.Struct(f"=B{NAME_BYTES}s")
_NAME_AT: Final = 440
assert _LEASE_AT + _LEASE.size <= _PID * 8
assert _NAME_AT + _NAME.size <= STRIDE

_SPINS: Final = 50


class Phase(IntEnum):
    """Where a slot stands. In CLAIMING and SETTLING a request is under way whose answer it does not have yet."""

    IDLE = 0
    RUNNING = 1
    SETTLING = 2
    CLAIMING = 3


class Orders(IntEnum):
    """What the supervisor wants of a slot, as bits; the slot looks between jobs."""

    NONE = 0
    STOP = 1
    RECYCLE = 2


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease a slot works under. ``seq``: number of the request that got it. ``span``: how long one renewal lasts.
    ``hard``: when the job is killed. ``fence``: when the slot is killed, as the lease may have been given away."""

    seq: int
    job_id: str
    token: str
    started: int
    hard: int
    span: int
    fence: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One slot as read from the board. ``request``: number of its last request."""

    pid: int
    generation: int
    name: str
    phase: Phase
    request: int
    lease: Lease | None
    succeeded: int
    failed: int
    busy: int


class Board:
    """Shared memory for ``size`` slots. Make it before forking."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._memory = mmap.mmap(-1, size * STRIDE)
        self._words = memoryview(self._memory).cast("Q")

    def pen(self, index: int) -> Pen:
        """The slot's own half of a record, for writing."""
        return Pen(self._memory, self._words, index)

    # The supervisor's half.

    def assign(self, index: int, pid: int, generation: int, name: str) -> None:
        """A new process has this record. Call before anything else reads its pid from the board."""
        raw = name.encode()
        if len(raw) > NAME_BYTES:
            raise ValueError(f"name: {name!r} is longer than {NAME_BYTES} bytes")
        _NAME.pack_into(self._memory, index * STRIDE + _NAME_AT, len(raw), raw)
        self._words[self._at(index, _GENERATION)] = generation
        self._words[self._at(index, _PID)] = pid

    def wipe(self, index: int) -> None:
        """Nobody has this record. Call while the old process is dead and not reaped."""
        self._words[self._at(index, _PID)] = 0
        start = index * STRIDE
        self._memory[start : start + STRIDE] = bytes(STRIDE)

    def order(self, index: int, orders: int) -> None:
        """Adds to what is wanted of the slot."""
        self._words[self._at(index, _ORDERS)] |= orders

    def extend(self, index: int, seq: int, fence: int) -> None:
        """The lease that request ``seq`` got was renewed: the slot may live until ``fence``."""
        self._words[self._at(index, _FENCE_SEQ)] = 0
        self._words[self._at(index, _FENCE)] = fence
        self._words[self._at(index, _FENCE_SEQ)] = seq

    # Reading.

    def pid(self, index: int) -> tuple[int, int]:
        """Pid (0: nobody) and generation."""
        return self._words[self._at(index, _PID)], self._words[self._at(index, _GENERATION)]

    def name(self, index: int) -> str:
        """The slot's name; that of the last one for an empty place that was not wiped yet."""
        length, name = _NAME.unpack_from(self._memory, index * STRIDE + _NAME_AT)
        return str(name[:length].decode())

    def is_busy(self, index: int) -> bool:
        """Whether the slot has a job, or has asked for one without an answer yet."""
        return bool(self._words[self._at(index, _REQUEST)] & 3)

    def read(self, index: int) -> Entry | None:
        """The slot's record; None when nobody has it, or when its writer stopped in mid-writing."""
        words, base = self._words, index * STRIDE // 8
        for _ in range(_SPINS):
            pid = words[base + _PID]
            if not pid:
                return None
            request = words[base + _REQUEST]
            is_whole, lease = self._lease(index)
            if not is_whole or words[base + _REQUEST] != request or words[base + _PID] != pid:
                continue
            seq, phase = request >> 2, Phase(request & 3)
            if lease is not None and lease.seq != (seq - 1 if phase is Phase.SETTLING else seq):
                lease = None
            if phase in (Phase.RUNNING, Phase.SETTLING) and lease is None:
                continue
            return Entry(
                pid=pid,
                generation=words[base + _GENERATION],
                name=self.name(index),
                phase=phase,
                request=seq,
                lease=lease if phase in (Phase.RUNNING, Phase.SETTLING) else None,
                succeeded=words[base + _SUCCEEDED],
                failed=words[base + _FAILED],
                busy=words[base + _BUSY],
            )
        return None

    def _lease(self, index: int) -> tuple[bool, Lease | None]:
        """The lease part, None when there never was one; and False instead when it is being written just now."""
        start = index * STRIDE + _LEASE_AT
        raw = self._memory[start : start + _LEASE.size]
        head, seq, started, hard, span, fence, id_len, job_id, token_len, token, tail = _LEASE.unpack(raw)
        if head != tail or raw != self._memory[start : start + _LEASE.size]:
            return False, None
        if not head:
            return True, None
        extended = self._words[self._at(index, _FENCE_SEQ)] == seq
        renewed = self._words[self._at(index, _FENCE)]
        lease = Lease(
            seq=seq,
            job_id=job_id[:id_len].decode(),
            token=token[:token_len].decode(),
            started=started,
            hard=hard,
            span=span,
            fence=max(fence, renewed) if extended else fence,
        )
        return True, lease

    @staticmethod
    def _at(index: int, word: int) -> int:
        return index * STRIDE // 8 + word


class Pen:
    """Writes one slot's half of its record. Every method is a few stores to memory."""

    __slots__ = ("_base", "_count", "_memory", "_start", "_words")

    def __init__(self, memory: mmap.mmap, words: memoryview[int], index: int) -> None:
        self._memory = memory
        self._words = words
        self._base = index * STRIDE // 8
        self._start = index * STRIDE + _LEASE_AT
        self._count = 0

    @property
    def orders(self) -> int:
        """What the supervisor wants (bits of `Orders`)."""
        return self._words[self._base + _ORDERS]

    def claiming(self, seq: int) -> None:
        """Request ``seq``, a claim, is about to be sent."""
        self._words[self._base] = seq << 2 | 3

    def idle(self, seq: int) -> None:
        """Request ``seq`` was answered, and there is no job."""
        self._words[self._base] = seq << 2

    def running(self, seq: int, job_id: str, token: str, started: int, hard: int, span: int, fence: int) -> None:
        """Request ``seq`` got this lease, and its job starts."""
        self._count = count = self._count + 1
        id_bytes, token_bytes = job_id.encode(), token.encode()
        _LEASE.pack_into(
            self._memory,
            self._start,
            count,
            seq,
            started,
            hard,
            span,
            fence,
            len(id_bytes),
            id_bytes,
            len(token_bytes),
            token_bytes,
            count,
        )
        self._words[self._base] = seq << 2 | 1

    def settling(self, seq: int) -> None:
        """The job has ended; request ``seq``, its settle, is about to be sent."""
        self._words[self._base] = seq << 2 | 2

    def count(self, succeeded: bool, busy: int) -> None:
        """One more job ran, for ``busy`` nanoseconds."""
        self._words[self._base + (_SUCCEEDED if succeeded else _FAILED)] += 1
        self._words[self._base + _BUSY] += busy
