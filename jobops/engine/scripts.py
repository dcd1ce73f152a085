"""One typed method per Lua command. What each does stands in the head of its file in ``lua/``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from secrets import token_hex
from typing import Any, cast

from redis.exceptions import ResponseError

from jobops.engine.batch_commands import BatchCommands
from jobops.engine.control_commands import ControlCommands
from jobops.engine.effect_commands import EffectCommands
from jobops.engine.errors import (
    DepthExceeded,
    EngineUnavailable,
    EnqueueRefused,
    IntakeClosed,
    InvalidJob,
    NotTaken,
    PausedWhat,
    SlotClosed,
    UnknownTenant,
)
from jobops.engine.limit_commands import LimitCommands
from jobops.engine.link import is_away
from jobops.engine.mend_commands import MendCommands
from jobops.engine.rates import Rate
from jobops.engine.records import (
    Abandoned,
    Cancelled,
    Claim,
    ClaimedJob,
    Death,
    Enqueued,
    EnqueuedState,
    NewJob,
    Outcome,
    Policy,
    Promoted,
    Rescued,
    Settled,
)
from jobops.engine.validation import check_job, check_lanes, check_policy
from jobops.engine.watch_commands import WatchCommands

BRIEF = 500
"""Characters of an error kept with each attempt; the last error is kept whole."""

DEAD_BATCH_BYTES = 16 * 1024 * 1024
"""A batch of deaths ends early when their records are larger together: hundreds of large ones must not fill memory."""

RESCUE_GAP_MS = 5_000
RESCUE_HOLD_MS = 30_000


class Scripts(WatchCommands, MendCommands, LimitCommands, EffectCommands, ControlCommands, BatchCommands):
    """The engine's commands on one Redis. Raises redis-py's ConnectionError and TimeoutError when Redis is away."""

    # -- jobs in ---------------------------------------------------------------------------------------------------

    def enqueue(self, job: NewJob) -> Enqueued:
        """Takes a job in. Raises InvalidJob, UnknownTenant, IntakeClosed, DepthExceeded or NotTaken."""
        check_job(job)
        answer = self.take_in(job)
        if isinstance(answer, EnqueueRefused):
            raise answer
        return answer

    def take_in(self, job: NewJob) -> Enqueued | EnqueueRefused:
        """As `enqueue`, of a job that has passed `check_job`; answers a refusal instead of raising it."""
        try:
            return _enqueued(job, self._call("enqueue", *_enqueue_args(job)))
        except (EngineUnavailable, ResponseError) as error:
            if is_away(error):
                raise
            refusal = NotTaken(job.queue, str(error.__cause__ or error))
            refusal.__cause__ = error
            return refusal

    def enqueue_many(self, jobs: Sequence[NewJob], *, checked: bool = False) -> list[Enqueued | EnqueueRefused]:
        """Takes jobs in, one atomic step each, in one round trip. Answers in order; a refusal is in its job's place.

        Raises InvalidJob before any is taken in, unless they are ``checked``: all have passed `check_job`.
        """
        if not checked:
            for job in jobs:
                check_job(job)
        answers = self._pipeline("enqueue", [_enqueue_args(job) for job in jobs])
        for answer in answers:
            if isinstance(answer, Exception) and is_away(answer):
                raise answer  # also for those that were taken in: their ids make the repeat harmless
        return [_enqueued(job, answer) for job, answer in zip(jobs, answers, strict=True)]

    def cancel(self, job_id: str, tenant: str | None = None, *, ttl_s: int = 86_400) -> Cancelled:
        """Ends a waiting or delayed job. With ``tenant``, another tenant's job is ``not_found``."""
        return cast(Cancelled, self._call("cancel", job_id, tenant or "", "", "", ttl_s)[0].decode())

    def cancel_key(self, tenant: str, job_type: str, key: str, *, ttl_s: int = 86_400) -> tuple[Cancelled, str]:
        """Ends the waiting or delayed job with this key. Answers what became of it and its id (or "")."""
        state, job_id = self._call("cancel", "", tenant, job_type, key, ttl_s)
        return cast(Cancelled, state.decode()), job_id.decode()

    # -- leases ----------------------------------------------------------------------------------------------------

    def claim(
        self, slot: str, seq: int, worker: str, lanes: Sequence[str], block_ms: int = 1000, *, token: str = ""
    ) -> Claim:
        """The slot's next job. ``seq`` is the slot's request number; the same number gets the same answer. ``token``:
        of its lease and no other; empty: a random one.

        Raises SlotClosed when the slot was abandoned or the number is older than its last.
        """
        answer = self._call("claim", slot, seq, worker, token or token_hex(12), block_ms, *lanes)
        if answer[0] == b"closed":
            raise SlotClosed(slot)
        return _claim(answer[0], answer[1])

    def settle(
        self,
        slot: str,
        seq: int,
        job_id: str,
        token: str,
        outcome: Outcome,
        *,
        claim_lanes: Sequence[str] = (),
        worker: str = "",
        block_ms: int = 1000,
        next_token: str = "",
    ) -> Settled:
        """Ends a lease; with ``claim_lanes`` claims the next job in the same step, with ``next_token`` as `claim` does.
        A stale token changes nothing."""
        error_class, error, traceback, delay = outcome.error_class, outcome.error, outcome.traceback, outcome.delay_ms
        answer = self._call(
            "settle", slot, seq, job_id, token, outcome.kind, outcome.cause, error_class and _text(error_class),
            error and _text(error), error and _text(error[:BRIEF]), traceback and _text(traceback),
            int(delay) if delay > 0 else 0, outcome.result, worker,
            next_token or (token_hex(12) if claim_lanes else ""), block_ms, *claim_lanes,
        )  # fmt: skip
        word, claimed, record = answer if len(answer) == 3 else (answer[0], b"", None)
        if word == b"closed":
            raise SlotClosed(slot)
        ended: Any = word.decode()
        return Settled(ended, _claim(claimed, record) if claimed else None)

    def renew(self, leases: Iterable[tuple[str, str]]) -> list[bool]:
        """Extends leases given as (job id, token). False: that lease is no longer this token's, or its time is over."""
        flat = [part for lease in leases for part in lease]
        return [answer == 1 for answer in self._call("renew", *flat)] if flat else []

    def abandon(self, slot: str, cause: str = "worker_lost", error: str = "") -> Abandoned:
        """The slot's process is gone: closes the slot for ever and ends its lease as a lost attempt."""
        return cast(Abandoned, self._call("abandon", slot, cause, _text(error or f"slot {slot} ended")).decode())

    def rescue(
        self,
        limit: int = 100,
        *,
        gap_ms: int = RESCUE_GAP_MS,
        hold_ms: int = RESCUE_HOLD_MS,
        min_interval_ms: int = 0,
        by: str = "",
    ) -> Rescued:
        """Ends up to ``limit`` expired leases as lost attempts. Safe to run by any number at once.

        ``gap_ms``: after so long without a rescue, nothing is moved for ``hold_ms``, which is to be one full lease.
        ``min_interval_ms`` and ``by`` as for promote.
        """
        moved, dead, held, more = self._call("rescue", limit, gap_ms, hold_ms, min_interval_ms, by)
        return Rescued(moved, dead, held == 1, more == 1)

    # -- time ------------------------------------------------------------------------------------------------------

    def promote(self, limit: int = 100, min_interval_ms: int = 0, by: str = "") -> Promoted:
        """Moves up to ``limit`` due jobs to their queues. Safe to run by any number at once.

        ``min_interval_ms``: what somebody else did less than so long ago is left to them. ``by``: who calls, so that
        the one who began goes on at once while more is left.
        """
        moved, wait, skipped = self._call("promote", limit, min_interval_ms, by)
        return Promoted(moved, None if wait < 0 else wait, skipped == 1)

    def now_ms(self) -> int:
        """Redis's clock, in milliseconds."""
        seconds, micros = self.redis.time()
        return int(seconds) * 1000 + int(micros) // 1000

    # -- policies --------------------------------------------------------------------------------------------------

    def set_policy(self, policy: Policy) -> bool:
        """Puts a policy in force. False: a newer version is in force already. Raises InvalidJob on a bad value."""
        check_policy(policy)
        lane_caps = [part for lane, cap in policy.lane_caps.items() for part in (lane, cap)]
        return bool(
            self._call(
                "set_policy", policy.slug, policy.uid, policy.version, repr(float(policy.weight)), _none(policy.cap),
                _none(policy.depth_limit), int(policy.paused), int(policy.intake_closed),
                *((policy.rate.count, policy.rate.per_ms) if policy.rate else ("", "")), *lane_caps,
            )
        )  # fmt: skip

    def drop_policy(self, slug: str) -> bool:
        """Forgets a tenant's policy: nothing of it starts any more, enqueues are refused. False: it was not known."""
        return bool(self._call("drop_policy", slug))

    def policy(self, slug: str) -> Policy | None:
        """The policy in force, or None."""
        raw: Any = self.redis.hgetall(self.keys.tenant(slug))
        fields = {k.decode(): v.decode() for k, v in raw.items()}
        if "weight" not in fields:
            return None
        caps = {name[4:]: int(value) for name, value in fields.items() if name.startswith("cap:")}
        return Policy(
            slug=slug,
            weight=float(fields["weight"]),
            cap=int(fields["cap"]) if fields.get("cap") else None,
            rate=Rate(int(fields["rate"]), int(fields["rate_per"])) if fields.get("rate") else None,
            lane_caps=caps,
            depth_limit=int(fields["depth_limit"]) if fields.get("depth_limit") else None,
            paused=fields.get("paused") == "1",
            intake_closed=fields.get("intake_closed") == "1",
            version=int(fields.get("version", 0)),
            uid=fields.get("uid", ""),
        )

    def set_lanes(self, lanes: Mapping[str, float]) -> int:
        """Pushes the lanes with their shares of worker time. Returns how many are known, earlier ones among them.

        Raises InvalidJob on a bad name or share.
        """
        check_lanes(lanes)
        pairs = [part for lane, share in lanes.items() for part in (lane, repr(float(share)))]
        return int(self._call("set_lanes", *pairs))

    def pause(self, slug: str | None = None) -> bool:
        """After this returns nothing of the tenant (None: of anyone) starts. False: the tenant is not known."""
        return bool(self._call("pause", slug or "", 1))

    def resume(self, slug: str | None = None) -> bool:
        """Lets the tenant (None: all) run again. False: the tenant is not known."""
        return bool(self._call("pause", slug or "", 0))

    def is_paused(self) -> bool:
        """Whether everything is paused."""
        return self.redis.hget(self.keys.cell(), "paused") == b"1"

    # -- upkeep ----------------------------------------------------------------------------------------------------

    def dead_batch(self, limit: int = 500, *, max_bytes: int = DEAD_BATCH_BYTES) -> list[Death]:
        """The oldest deaths that are not in the database yet. Changes nothing."""
        flat = self._call("dead_batch", limit, max_bytes)
        deaths = []
        for member, died, fields in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
            name = member.decode(errors="backslashreplace")
            job_id, _, attempt = name.rpartition(":")
            number = int(attempt) if attempt.isascii() and attempt.isdigit() else 0
            pairs = dict(zip(fields[::2], fields[1::2], strict=True))
            deaths.append(Death(name, job_id or name, number, int(float(died)), pairs))
        return deaths

    def dead_ack(self, members: Sequence[str], *, ttl_s: int = 7 * 86_400) -> int:
        """Removes exactly these deaths from the intake; their jobs' hashes live ``ttl_s`` seconds more."""
        return int(self._call("dead_ack", ttl_s, *members)) if members else 0

    def lock(self, name: str, owner: str, ttl_ms: int) -> bool:
        """Takes or keeps a named lock. False: somebody else holds it."""
        return bool(self._call("lock", name, owner, max(1, ttl_ms)))

    def unlock(self, name: str, owner: str) -> bool:
        """Gives a lock back. False: somebody else holds it."""
        return bool(self._call("lock", name, owner, 0))

    def epoch(self) -> str:
        """The cell's random name, made when missing: another one than before means Redis was flushed or restored."""
        return str(self._call("epoch", token_hex(16)).decode())

    def epoch_mark(self, known: int, most_behind: int) -> tuple[str, int]:
        """Makes the next mark, after the one that the database knows. Answers the epoch and that mark.

        The epoch is another one than before if Redis was more than ``most_behind`` marks behind: set back to an older
        state of its own.
        """
        epoch, mark = self._call("epoch_mark", token_hex(16), known, most_behind)
        return epoch.decode(), int(mark)

    def wait_for_wake(self, lanes: Sequence[str], wait_ms: int) -> bool:
        """Blocks until there may be work in these lanes, at most ``wait_ms``. True: woken."""
        return self.redis.blpop([self.keys.wake(lane) for lane in lanes], timeout=max(0.01, wait_ms / 1000)) is not None


def _text(value: str) -> bytes:
    """As UTF-8, whatever it holds: the text of an exception may have lone surrogates (undecodable file names)."""
    return value.encode(errors="backslashreplace") if value else b""


def _none(value: int | None) -> str | int:
    return "" if value is None else value


def _enqueue_args(job: NewJob) -> tuple[Any, ...]:
    # Its fields, in their order; the two that are no text or number as flags.
    return (*job[:12], int(job.front), *job[13:18], int(job.on_full == "drop_oldest"), *job[19:])


def _enqueued(job: NewJob, answer: Any) -> Enqueued | EnqueueRefused:
    if isinstance(answer, Exception):
        return NotTaken(job.queue, str(answer))
    word = answer[0].decode()
    if word == "queued":
        return Enqueued(job.id, "queued")
    if word == "unknown_tenant":
        return UnknownTenant(job.tenant)
    if word == "intake_closed":
        return IntakeClosed(job.tenant)
    if word == "unknown_lane":
        return InvalidJob("lane", f"{job.lane!r} is not a lane of this installation; see JOBOPS_LANES")
    if word == "depth":
        waiting, limit, seconds, paused = answer[1:5]
        return DepthExceeded(job.tenant, waiting, limit, seconds or None, cast(PausedWhat, paused.decode()))
    return Enqueued(answer[1].decode(), cast(EnqueuedState, word))


def _claim(word: bytes, answer: Any) -> Claim:
    if word != b"job":
        return Claim(None, int(answer))
    # In one piece and by name: for every job, and the numbers come as such.
    (
        job_id, token, tenant, lane, job_type, attempt, max_attempts, timeout_ms, lease_ms, data, key, correlation_id,
        enqueued_at_ms, releases, tenant_uid, resource, checkpoint, claimed_at_ms,
    ) = answer  # fmt: skip
    slug, lane_name = tenant.decode(), lane.decode()
    return Claim(
        ClaimedJob(
            job_id.decode(), token.decode(), slug, lane_name, f"{slug}.{lane_name}", job_type.decode(), attempt,
            max_attempts, timeout_ms, lease_ms, data, key.decode(), correlation_id.decode(), enqueued_at_ms, releases,
            tenant_uid.decode(errors="replace"), resource.decode(errors="replace"), checkpoint,
            claimed_at_ms,
        )
    )  # fmt: skip
