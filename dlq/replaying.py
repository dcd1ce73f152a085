"""From a dead letter to the job that runs it again, or why there can be none."""

import hashlib
import logging
import re
from collections.abc import Sequence

from dlq.errors import NotReplayable
from dlq.models import DeadLetter
from dlq.payloads import stored_arguments
from dlq.ports import key_holders
from jobops.contracts import registry
from jobops.contracts.config import config
from jobops.contracts.job_type import JobType
from jobops.contracts.promised import promised_by
from jobops.engine.errors import InvalidJob
from jobops.engine.link import is_away
from jobops.engine.payload import encode
from jobops.engine.records import NewJob
from tenants.models import Tenant

log = logging.getLogger(__name__)

KEY_IS_HELD = "a live job holds its key; it can be replayed when that job has ended"

# What the engine takes as a job's id.
_ID = re.compile(r"[A-Za-z0-9_-]{1,160}")
_NUMBER = re.compile(r"-r([1-9][0-9]{0,8})")


def replay_id(job_id: str, attempt: int, number: int) -> str:
    """The id of the job of this death's replay of this number: always the same one, so that it is one job."""
    plain = f"{job_id}-{attempt}-r{number}"
    if _ID.fullmatch(plain):
        return plain
    digest = hashlib.sha256(f"{job_id}:{attempt}".encode("utf-8", "surrogatepass")).hexdigest()[:40]
    return f"dl-{digest}-r{number}"


def number_of(job_id: str) -> int:
    """The number that a replay's job id ends with; 0 if it is no such id."""
    _, mark, rest = job_id.rpartition("-r")
    found = _NUMBER.fullmatch(mark + rest)
    return int(found[1]) if found else 0


def death_of(letter: DeadLetter) -> str:
    """How a replay's job names the death that it is a replay of."""
    return f"{letter.job_id}:{letter.attempt}"


def replay_job(letter: DeadLetter, *, from_start: bool = False) -> NewJob:
    """The job of the letter's next replay: its arguments, lane, key and correlation, and the contract of today.

    It resumes from the letter's checkpoint, unless it is to begin ``from_start``.
    Raises ``NotReplayable``. Whether a live job holds its key is for ``key_refusals``.
    """
    job_type, tenant = _job_type(letter), _tenant(letter)
    lanes, promised = config().lanes, promised_by(job_type)
    lane = letter.lane if letter.lane in lanes else job_type.lane
    return NewJob(
        id=replay_id(letter.job_id, letter.attempt, letter.replays + 1),
        tenant=tenant.slug,
        lane=lane if lane in lanes else lanes[0],
        job_type=job_type.name,
        data=_data(letter, job_type),
        max_attempts=job_type.max_attempts,
        timeout_ms=promised.timeout_ms,
        lease_ms=promised.lease_ms or config().lease_ms,
        key=letter.key,
        correlation_id=letter.correlation_id or letter.job_id,
        replay_of=death_of(letter),
        tenant_uid=str(tenant.pk),
        resource=job_type.resource,
        result_ttl_s=promised.result_ttl_s,
        dedup_ms=promised.dedup_ms,
        keep=job_type.keep_results or 0,
        batch=letter.batch,
        checkpoint=b"" if from_start else letter.checkpoint.encode(),
    )


def key_refusals(letters: Sequence[DeadLetter]) -> dict[int, str]:
    """Letter id → why it cannot be replayed, for those whose key a live job holds.

    Asks Redis, once: best outside of a transaction. None is refused while Redis is away, as the replay then waits in
    the outbox and ends as coalesced if the key is taken when it arrives.
    """
    wanted = {letter.pk: place for letter in letters if (place := _key_place(letter)) is not None}
    if not wanted:
        return {}
    try:
        holders = key_holders()(list(wanted.values()))
    except Exception as error:
        if not is_away(error):
            raise
        log.warning("whether keys are held is not known, as Redis is away: %s", error)
        return {}
    return {letter_id: KEY_IS_HELD for letter_id, holder in zip(wanted, holders, strict=True) if holder}


def _key_place(letter: DeadLetter) -> tuple[str, str, str] | None:
    job_type = registry.resolve(letter.job_type)
    if not letter.key or job_type is None or letter.tenant is None:
        return None
    return letter.tenant.slug, job_type.name, letter.key


def _job_type(letter: DeadLetter) -> JobType:
    job_type = registry.resolve(letter.job_type) if letter.job_type else None
    if job_type is None:
        name = letter.job_type or "without a name"
        why = f"job type {name} is not registered; it can be replayed once the name or an alias exists again"
        raise NotReplayable(letter.pk, why)
    return job_type


def _tenant(letter: DeadLetter) -> Tenant:
    if letter.tenant is None:
        raise NotReplayable(letter.pk, "its tenant was deleted")
    if letter.tenant.intake_closed:
        raise NotReplayable(letter.pk, f"tenant {letter.tenant.slug} takes no jobs at present; its intake is closed")
    return letter.tenant


def _data(letter: DeadLetter, job_type: JobType) -> bytes:
    stored = stored_arguments(letter.payload)
    if stored is None:
        raise NotReplayable(letter.pk, "its arguments cannot be read, so that its job cannot be made again")
    try:
        args, kwargs = job_type.bind(*stored)
        return encode(
            job_type.name,
            args,
            kwargs,
            limit=config().payload_limit,
            arg_names=job_type.argument_names(len(args)),
        )
    except InvalidJob as error:
        raise NotReplayable(letter.pk, f"its arguments do not fit the job type of today: {error}") from error
