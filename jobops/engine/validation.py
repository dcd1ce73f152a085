"""What must hold of a job or a policy before Redis is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jobops.engine.errors import InvalidJob
from jobops.engine.rates import LONGEST_MS, MOST_COUNT, RATE_HINT
from jobops.engine.records import NewJob, Policy

SLUG_PATTERN = r"[a-z0-9-]{1,50}"
"""A tenant's slug, the whole of it."""

LANE_PATTERN = r"[a-z][a-z0-9_]{0,30}"
"""A lane's name, the whole of it."""

RESOURCE_PATTERN = r"[a-z0-9][a-z0-9_.-]{0,49}"
"""A resource's name, the whole of it."""

CHECKPOINT_LIMIT = 64 * 1024
"""Bytes of a checkpoint's JSON."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,160}")
_SLUG = re.compile(SLUG_PATTERN)
_LANE = re.compile(LANE_PATTERN)
_TYPE = re.compile(r"[^:\x00-\x1f\ud800-\udfff]{1,200}")
_RESOURCE = re.compile(RESOURCE_PATTERN)
_BATCH = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MAX_MS = 10 * 365 * 86_400_000
_TYPES = (
    str, str, str, str, bytes, int, int, int, str, str, int,
    int, bool, int, str, str, str, int, str, int, str, bytes,
)  # fmt: skip


def check_job(job: NewJob) -> None:
    """Raises InvalidJob naming the first field that is not what it must be."""
    (
        job_id, tenant, lane, job_type, _data, max_attempts, timeout_ms, lease_ms, key, correlation_id, delay_ms,
        due_at_ms, front, result_ttl_s, replay_of, tenant_uid, resource, dedup_ms, on_full, keep, batch, checkpoint,
    ) = job  # fmt: skip
    # For every job: nearly all differ from those before in an id only, and are not looked at field by field.
    if (
        tuple(map(type, job)) != _TYPES
        or delay_ms or due_at_ms or replay_of or checkpoint
        or not _ID.fullmatch(job_id)
        or not (correlation_id == job_id or _is_plain(correlation_id))
        or not _is_plain(key)
        or not _hold(
            tenant, lane, job_type, b"", max_attempts, timeout_ms, lease_ms, key and "k", "", 0, 0, front, result_ttl_s,
            "", tenant_uid, resource, dedup_ms, on_full, keep, batch,
        )
    ):  # fmt: skip
        _check_each(job)


def _is_plain(text: str) -> bool:
    return len(text) <= 200 and text.isprintable()  # lone surrogates are not


@lru_cache(maxsize=4096)
def _hold(*terms: Any) -> bool:
    """Whether a job of these terms, whatever its id, is right. Their types are known: 1 and True would be one here."""
    try:
        _check_each(NewJob("id", *terms))
    except InvalidJob:
        return False
    return True


def _check_each(job: NewJob) -> None:
    if not _matches(_ID, job.id):
        raise InvalidJob("id", f"{_shown(job.id)} must be 1 to 160 letters, digits, _ or -")
    check_slug("tenant", job.tenant)
    _check_lane("lane", job.lane)
    if not _matches(_TYPE, job.job_type):
        raise InvalidJob(
            "job_type", f"{_shown(job.job_type)} must be a registered name of 1 to 200 characters, without ':'"
        )
    if type(job.data) is not bytes:
        raise InvalidJob("data", f"{type(job.data).__name__} must be bytes, as encode() makes them")
    for name in ("key", "correlation_id"):
        _check_text(name, getattr(job, name))
    _check_text("replay_of", job.replay_of, 250)
    _check_text("tenant_uid", job.tenant_uid, 100)
    for name in ("max_attempts", "timeout_ms", "lease_ms", "result_ttl_s"):
        _whole(name, getattr(job, name), 1)
    for name in ("delay_ms", "due_at_ms"):
        _whole(name, getattr(job, name), 0, _MAX_MS if name == "delay_ms" else 2**53)
    _check_options(job)
    if type(job.front) is not bool:
        raise InvalidJob("front", f"{_shown(job.front)} must be True or False")
    if job.delay_ms and job.due_at_ms:
        raise InvalidJob("delay_ms", "give either a delay or a due time, not both")


def _check_options(job: NewJob) -> None:
    if job.resource and not _matches(_RESOURCE, job.resource):
        raise InvalidJob("resource", f"{_shown(job.resource)} must be 1 to 50 of a-z, 0-9, '_', '.' and '-'")
    if job.batch and not _matches(_BATCH, job.batch):
        raise InvalidJob("batch", f"{_shown(job.batch)} must be 1 to 64 letters, digits, _ or -")
    _whole("dedup_ms", job.dedup_ms, 0, _MAX_MS)
    _whole("keep", job.keep, 0)
    if job.on_full not in ("refuse", "spill", "drop_oldest"):
        raise InvalidJob("on_full", f"{_shown(job.on_full)} must be refuse, spill or drop_oldest")
    if job.on_full == "drop_oldest" and not job.key:
        raise InvalidJob("key", "is missing; with on_full drop_oldest it tells which waiting job gives way to this one")
    if type(job.checkpoint) is not bytes or len(job.checkpoint) > CHECKPOINT_LIMIT:
        raise InvalidJob("checkpoint", f"must be bytes, at most {CHECKPOINT_LIMIT} of them")


def check_policy(policy: Policy) -> None:
    """Raises InvalidJob naming the first field that is not what it must be."""
    check_slug("slug", policy.slug)
    if len(policy.uid) > 100:
        raise InvalidJob("uid", f"{len(policy.uid)} characters; at most 100")
    _check_share("weight", policy.weight)
    for name, value in (("cap", policy.cap), ("depth_limit", policy.depth_limit)):
        if value is not None:
            _whole(name, value, 0)
    for lane, cap in policy.lane_caps.items():
        _check_lane("lane_caps", lane)
        _whole(f"lane_caps[{lane}]", cap, 0)
    if policy.rate is not None and not (1 <= policy.rate.count <= MOST_COUNT and 1 <= policy.rate.per_ms <= LONGEST_MS):
        raise InvalidJob("rate", f"cannot be used; {RATE_HINT}")
    _whole("version", policy.version, 0)


def check_lanes(lanes: Mapping[str, float]) -> None:
    """Raises InvalidJob unless there is a lane, and each has a name and a share above 0."""
    if not lanes:
        raise InvalidJob("lanes", "must be at least one")
    for lane, share in lanes.items():
        _check_lane("lanes", lane)
        _check_share(f"lanes[{lane}]", share)


def check_slug(name: str, value: str) -> None:
    """Raises InvalidJob unless ``value`` is a tenant's slug: 1 to 50 of a-z, 0-9 and -."""
    if not _matches(_SLUG, value):
        raise InvalidJob(name, f"{_shown(value)} must be 1 to 50 lower-case letters, digits or -")


def _check_lane(name: str, value: object) -> None:
    if not _matches(_LANE, value):
        raise InvalidJob(name, f"{_shown(value)} must be lower-case letters, digits and _, starting with a letter")


def _check_share(name: str, value: object) -> None:
    if type(value) not in (int, float) or not 0 < value <= 1_000_000:  # type: ignore[operator]
        raise InvalidJob(name, f"{_shown(value)} must be a number above 0 and at most 1,000,000")


def _check_text(name: str, value: object, most: int = 200) -> None:
    if not isinstance(value, str) or len(value) > most or _SURROGATE.search(value):
        raise InvalidJob(name, f"{_shown(value)} must be text of at most {most} characters, without lone surrogates")


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _shown(value: object) -> str:
    return ascii(value)[:80]


def _whole(name: str, value: object, least: int, most: int = 2**53) -> None:
    if type(value) is not int or not least <= value <= most:
        raise InvalidJob(name, f"{value!r} must be a whole number from {least} to {most}")
