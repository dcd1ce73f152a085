"""What decides whether a job starts, as ``why.lua`` tells it: plain records, read at one instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

MOST_AHEAD = 10_000
"""How far into its queue a job is looked for."""
ROUNDING = 1e-6
"""So much less than a whole token is one."""

Raw: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Holder:
    """A running job that holds what another waits for. ``since_ms``: when it started, 0 if unknown. ``usual_ms``: the
    moving average of its type's run times; None: none was measured. ``timeout_ms``: it is ended then, 0 if unknown."""

    job_id: str
    worker: str
    since_ms: int
    tenant: str
    job_type: str
    usual_ms: float | None = None
    timeout_ms: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """A limit of starts: ``concurrency`` and ``rate`` None: any. ``tokens``: starts that the rate leaves at this
    moment. ``open_at_ms``: until when the rate is used up; 0: it is not."""

    concurrency: int | None
    rate: int | None
    rate_per_ms: int
    tokens: float
    open_at_ms: int


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate that the job has to pass. ``known``: its limits were set; a resource that is not known lets nobody
    through. ``waiting``: jobs that wait for it. ``rank``: the job's place among those of its own queue, from 0; None
    when it does not wait there. ``own``: how many of its own queue come before it there, and ``others``: how many of
    other queues, by their turns; None: too many to tell. ``brake_error``: what job ``brake_by`` said, unmasked."""

    name: str
    known: bool
    paused: bool
    limits: Limits
    inflight: int
    holders: tuple[Holder, ...]
    waiting: int
    rank: int | None
    own: int
    others: int | None
    brake_until_ms: int
    brake_by: str
    brake_error: str

    @property
    def job_type(self) -> str:
        """Whose own gate it is; empty for a resource."""
        return self.name[5:] if self.name.startswith("type:") else ""


@dataclass(frozen=True, slots=True)
class TenantFacts:
    """The tenant's policy in force; ``known`` False: there is none, as when the tenant was deleted."""

    known: bool
    paused: bool
    uid: str
    cap: int | None
    lane_cap: int | None
    limits: Limits
    depth_limit: int | None = None
    intake_closed: bool = False


@dataclass(frozen=True, slots=True)
class LeaseFacts:
    """The lease of a running job, in ms on Redis's clock. ``stop``: '', 'end' or 'retry', and why in ``note``."""

    worker: str
    attempt: int
    started_ms: int
    lease_ms: int
    timeout_ms: int
    until_ms: int
    stop: str
    note: str


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """A supervisor. ``silent_ms``: since its last heartbeat. ``lost``: it was seen dead. ``knows``: whether its code
    has the job's type; None when it did not say."""

    id: str
    silent_ms: float
    heartbeat_ms: int
    lost: bool
    draining: bool
    lanes: tuple[str, ...]
    slots: int
    knows: bool | None


@dataclass(frozen=True, slots=True)
class WhyFacts:
    """All of it. ``job``: the job's record, empty when Redis has none; then only ``lease`` and ``into`` say something.

    ``position``: jobs before it in its queue; None when it stands in none, or further back than ``MOST_AHEAD``.
    ``depths``: queued jobs by lane; ``depth``: all that wait, at gates too. ``turn``: how many tenants come before its
    own in its lane. ``starts``: of the tenant, by minute, the running one first. ``promoted_ms``: when due jobs were
    moved last. ``usual_ms``: the moving average of its type's run times; None: none was measured.
    """

    now_ms: int
    job: Mapping[bytes, bytes]
    lease: LeaseFacts | None
    into: str
    paused: bool = False
    promoted_ms: int = 0
    tenant: TenantFacts | None = None
    gone: bool = False
    inflight: int = 0
    holders: tuple[Holder, ...] = ()
    lane_inflight: int = 0
    lane_holders: tuple[Holder, ...] = ()
    depths: Mapping[str, int] | None = None
    depth: int = 0
    known_lane: bool = True
    position: int | None = None
    turn: int | None = None
    idle_slots: int = 0
    due_ms: int = 0
    gates: tuple[Gate, ...] = ()
    workers: tuple[WorkerFacts, ...] = ()
    starts: tuple[int, ...] = ()
    usual_ms: float | None = None


def facts_of(answer: Sequence[Any]) -> WhyFacts:
    """What ``why.lua`` answered, read. Nothing here trusts what a hash holds."""
    raw = _named(answer)
    now_ms = _int(raw["now"])
    job = _pairs(raw["job"])
    lease = _lease(_named(raw["lease"])) if raw["lease"] else None
    into = _text(raw["into"])
    if "tenant" not in raw:
        return WhyFacts(now_ms, job, lease, into)
    policy = _strings(raw["tenant"])
    lane = _text(raw["lane"])
    return WhyFacts(
        now_ms=now_ms,
        job=job,
        lease=lease,
        into=into,
        paused=_text(raw["paused"]) == "1",
        promoted_ms=_int(raw["promoted"]),
        tenant=TenantFacts(
            known="weight" in policy,
            paused=policy.get("paused") == "1",
            uid=policy.get("uid", ""),
            cap=_limit(policy.get("cap", "")),
            lane_cap=_limit(policy.get(f"cap:{lane}", "")),
            limits=_limits(policy, None, now_ms),
            depth_limit=_limit(policy.get("depth_limit", "")),
            intake_closed=policy.get("intake_closed") == "1",
        ),
        gone=bool(_int(raw["gone"])),
        inflight=_int(raw["inflight"]),
        holders=_holders(raw["holders"]),
        lane_inflight=_int(raw["running"]),
        lane_holders=_holders(raw["lane_holders"]),
        depths={name: int(depth) for name, depth in _strings(raw["depths"]).items()},
        depth=_int(raw["depth"]),
        known_lane=bool(_int(raw["known_lane"])),
        position=_place(raw["position"]),
        turn=_place(raw["turn"]),
        idle_slots=_int(raw["idle"]),
        due_ms=int(_float(raw["due"]) * 1000),
        gates=tuple(_gate(_named(gate), now_ms) for gate in raw["gates"]),
        workers=tuple(_worker(worker, now_ms) for worker in raw["crew"]),
        starts=tuple(_int(count) for count in raw["starts"]),
        usual_ms=_float(raw["usual"]) or None,
    )


def _gate(raw: Raw, now_ms: int) -> Gate:
    fields = _strings(raw["limits"])
    return Gate(
        name=_text(raw["name"]),
        known=fields.get("known") == "1",
        paused=fields.get("paused") == "1",
        limits=_limits(fields, _limit(fields.get("concurrency", "")), now_ms),
        inflight=_int(raw["inflight"]),
        holders=_holders(raw["holders"]),
        waiting=_int(raw["waiting"]),
        rank=_place(raw["rank"]),
        own=_int(raw["own"]),
        others=_place(raw["others"]),
        # A clock that was set back since makes no brake longer.
        brake_until_ms=int(
            _float(fields.get("brake_until", "")) - max(0.0, _float(fields.get("brake_at", "")) - now_ms)
        ),
        brake_by=fields.get("brake_by", ""),
        brake_error=fields.get("brake_error", ""),
    )


def _limits(fields: Mapping[str, str], concurrency: int | None, now_ms: int) -> Limits:
    rate, per_ms = _limit(fields.get("rate", "")), _int(fields.get("rate_per", ""))
    open_at, tokens = 0, 0.0
    if rate and per_ms:
        passed_ms = max(0.0, now_ms - _float(fields.get("tokens_at", "")) / 1000)
        tokens = _float(fields["tokens"]) + passed_ms * rate / per_ms if fields.get("tokens") else float(rate)
        tokens = min(tokens, float(rate))
        if tokens < 1 - ROUNDING:
            open_at = now_ms + int((1 - tokens) * per_ms / rate) + 1
    return Limits(concurrency, rate, per_ms, tokens, open_at)


def _lease(raw: Raw) -> LeaseFacts:
    return LeaseFacts(
        worker=_text(raw["worker"]),
        attempt=_int(raw["attempt"]),
        started_ms=_int(raw["started"]),
        lease_ms=_int(raw["lease"]),
        timeout_ms=_int(raw["timeout"]),
        until_ms=int(_float(raw["until"])),
        stop=_text(raw["stop"]),
        note=_text(raw["note"]),
    )


def _worker(raw: Sequence[Any], now_ms: int) -> WorkerFacts:
    name, seen, heartbeat, lost, draining, lanes, slots, knows = raw
    return WorkerFacts(
        id=_text(name),
        silent_ms=now_ms - _float(seen),
        heartbeat_ms=_int(heartbeat),
        lost=_text(lost) == "1",
        draining=_text(draining) == "1",
        lanes=tuple(filter(None, _text(lanes).split(","))),
        slots=_int(slots),
        knows=None if _text(knows) == "" else bool(_int(knows)),
    )


def _holders(flat: Sequence[Any]) -> tuple[Holder, ...]:
    parts = [_text(part) for part in flat]
    return tuple(
        Holder(job_id, worker, _int(since), tenant, job_type, _float(usual) or None, _int(timeout))
        for job_id, worker, since, tenant, job_type, usual, timeout in zip(*[iter(parts)] * 7, strict=True)
    )


def _named(flat: Sequence[Any]) -> dict[str, Any]:
    return {_text(name): value for name, value in zip(flat[::2], flat[1::2], strict=True)}


def _pairs(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _strings(flat: Sequence[Any]) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in zip(flat[::2], flat[1::2], strict=True)}


def _text(value: Any) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def _int(value: Any) -> int:
    text = _text(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 17 else 0


def _float(value: Any) -> float:
    try:
        number = float(_text(value) or 0)
    except ValueError:
        return 0.0
    return number if abs(number) < 2**53 else 0.0


def _limit(text: str) -> int | None:
    return _int(text) if text else None


def _place(value: Any) -> int | None:
    return None if _text(value) == "" else _int(value)
