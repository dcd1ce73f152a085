"""Errors the engine raises. Each names the field at fault and what would be right."""

from __future__ import annotations

from typing import Literal, TypeAlias

PausedWhat: TypeAlias = Literal["", "tenant", "all"]


class EngineError(Exception):
    """Any refusal or failure of the engine."""


class EnqueueRefused(EngineError):
    """A job was not taken in, and nothing of it was kept."""


class UnknownTenant(EnqueueRefused):
    """The engine holds no policy for this tenant."""

    def __init__(self, tenant: str) -> None:
        super().__init__(f"tenant: {tenant!r} is not known; create it with `manage.py tenants create {tenant}`")
        self.tenant = tenant


class IntakeClosed(EnqueueRefused):
    """The tenant takes no new jobs at present."""

    def __init__(self, tenant: str) -> None:
        super().__init__(
            f"tenant: the intake of {tenant!r} is closed; open it with `manage.py tenants set {tenant} --intake open`"
        )
        self.tenant = tenant


class DepthExceeded(EnqueueRefused):
    """The tenant already has as many jobs waiting as its depth limit allows.

    ``retry_after_s``: in about so many seconds there may be room again, at the rate at which its jobs start now (1 to
    300; 60 when nothing tells); None: nobody knows, as ``paused`` says ("tenant" or "all") what a person has paused.
    """

    def __init__(
        self, tenant: str, depth: int, limit: int, retry_after_s: int | None = 60, paused: PausedWhat = ""
    ) -> None:
        advice = f"try again in about {retry_after_s} s, or raise the limit"
        if paused or retry_after_s is None:
            retry_after_s = None
            command = "manage.py resume --all" if paused == "all" else f"manage.py tenants resume {tenant}"
            what = "everything is paused" if paused == "all" else "it is paused"
            advice = f"{what}, so nobody knows when there is room; resume it with `{command}`, or raise the limit"
        super().__init__(f"tenant: {tenant!r} has {depth} jobs waiting and its depth limit is {limit}; {advice}")
        self.tenant = tenant
        self.depth = depth
        self.limit = limit
        self.retry_after_s = retry_after_s
        self.paused = paused


class OutboxUnavailable(EnqueueRefused):
    """Redis is to take no new jobs at present, and the database did not take the job either. Its cause says why."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"outbox: {why}, and the database cannot keep the job meanwhile; nothing of it was kept, try again later"
        )


class InvalidJob(EnqueueRefused):
    """A field of the job is not what it must be."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


class Unserializable(InvalidJob):
    """An argument cannot be carried as JSON without changing it."""


class PayloadTooLarge(InvalidJob):
    """The arguments together are larger than the limit."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            "arguments",
            f"{size} bytes as JSON, the limit is {limit}; store the data elsewhere and pass a reference to it",
        )
        self.size = size
        self.limit = limit


class NotTaken(EnqueueRefused):
    """Redis refused the job: it holds data of another form under one of the engine's keys."""

    def __init__(self, queue: str, answer: str) -> None:
        super().__init__(f"queue: Redis cannot take a job into {queue} ({answer[:300]}); its keys hold other data")
        self.queue = queue


class EngineUnavailable(EngineError):
    """Redis answered what the engine cannot work with (a script's malformed arguments, another version's data)."""


class SlotClosed(EngineError):
    """This slot was abandoned (its process was taken for dead), or its request is older than its last one."""

    def __init__(self, slot: str) -> None:
        super().__init__(f"slot: {slot} is closed; a new slot process must take a new id")
        self.slot = slot
