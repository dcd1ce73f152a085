"""From a dead letter to the job that runs it again, or why there can be none."""

import hashlib
import logging
import re
from collections.abc import Mapping, Sequence

from dlq.changing import check_state
from dlq.editing import Edit
from dlq.errors import LetterError, NotReplayable
from dlq.foreign.homes import HomeJob, away_refusals, home_job, homes_of
from dlq.foreign.names import may_be_foreign
from dlq.job_data import job_data
from dlq.models import DeadLetter
from dlq.ports import key_holders
from dlq.redirects import Redirects, redirects_for, type_of
from dlq.states import Event
from jobops.contracts import registry
from jobops.contracts.config import config
from jobops.contracts.job_type import JobType
from jobops.contracts.promised import promised_by
from jobops.engine.link import is_away
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


def replay_job(
    letter: DeadLetter,
    *,
    from_start: bool = False,
    lane: str = "",
    number: int = 0,
    payload: str = "",
    redirects: Redirects | None = None,
) -> NewJob:
    """The job of the letter's next replay, or of the one of this ``number``: its arguments, lane, key and correlation,
    and the contract of today. ``lane``: instead of the one that it died in; ``payload``: instead of its own arguments.
    ``redirects``: as ``type_of`` takes them.

    It resumes from the letter's checkpoint, unless it is to begin ``from_start``.
    Of a job of another installation, it is a ``HomeJob``. Raises ``NotReplayable``. Whether a live job holds its key,
    and whether that installation answers, is for ``key_refusals``.
    """
    if may_be_foreign(letter.job_id):
        return home_job(letter, replay_id(letter.job_id, letter.attempt, number or letter.replays + 1), payload)
    job_type, tenant = _job_type(letter, redirects), _tenant(letter)
    lanes, promised = config().lanes, promised_by(job_type)
    lane = next((each for each in (lane, letter.lane, job_type.lane) if each in lanes), lanes[0])
    return NewJob(
        id=replay_id(letter.job_id, letter.attempt, number or letter.replays + 1),
        tenant=tenant.slug,
        lane=lane,
        job_type=job_type.name,
        data=job_data(letter.pk, payload or letter.payload, job_type),
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


def jobs_of(
    letters: Sequence[DeadLetter],
    keys_held: Mapping[int, str],
    *,
    from_start: bool = False,
    lane: str = "",
    payloads: Mapping[int, str] | None = None,
) -> tuple[dict[int, NewJob], dict[int, LetterError]]:
    """By letter id: the jobs of the next replays of those that can be replayed, and why the others cannot.

    ``keys_held``: as ``key_refusals`` answers; of several letters with one key the first gets a job. ``payloads``: by
    letter id, the arguments of those that do not run with their own. The tenants should have been read.
    """
    redirects, edited = redirects_for(letters), payloads or {}
    jobs: dict[int, NewJob] = {}
    refused: dict[int, LetterError] = {}
    keys_taken: set[tuple[str, str, str]] = set()
    for letter in letters:
        try:
            check_state(letter, Event.REPLAY)
            payload = edited.get(letter.pk, "")
            job = replay_job(letter, from_start=from_start, lane=lane, payload=payload, redirects=redirects)
            place = (job.tenant, job.job_type, job.key)
            if letter.pk in keys_held or (job.key and place in keys_taken):
                raise NotReplayable(letter.pk, keys_held.get(letter.pk, KEY_IS_HELD))
        except LetterError as error:
            refused[letter.pk] = error
            continue
        keys_taken.add(place)
        jobs[letter.pk] = job
    return jobs, refused


def told_of(letter: DeadLetter, job: NewJob, edit: Edit | None = None) -> dict[str, object]:
    """What the audit says of the job of a replay that is not the letter's own: which arguments are others, and as what
    type a redirect lets it run. Never a value."""
    if isinstance(job, HomeJob):
        return {}
    told: dict[str, object] = (
        {"edited": list(dict.fromkeys([*edit.changed, *edit.replaced]))} if edit is not None else {}
    )
    return told | ({"as": job.job_type} if registry.resolve(letter.job_type) is None else {})


def key_refusals(letters: Sequence[DeadLetter]) -> dict[int, str]:
    """Letter id → why it cannot be replayed, for those whose key a live job holds, and for those of other
    installations that do not answer.

    Asks each Redis, once: best outside of a transaction. None is refused while our own is away, as the replay then
    waits in the outbox and ends as coalesced if the key is taken when it arrives. The tenants should have been read.
    """
    redirects = redirects_for(letter for letter in letters if letter.key)
    wanted = {letter.pk: place for letter in letters if (place := key_place(letter, redirects)) is not None}
    away = away_refusals(homes_of(letters))
    if not wanted:
        return away
    try:
        holders = key_holders()(list(wanted.values()))
    except Exception as error:
        if not is_away(error):
            raise
        log.warning("whether keys are held is not known, as Redis is away: %s", error)
        return away
    return away | {letter_id: KEY_IS_HELD for letter_id, holder in zip(wanted, holders, strict=True) if holder}


def key_place(letter: DeadLetter, redirects: Redirects | None = None) -> tuple[str, str, str] | None:
    """Where the letter's key is unique, as (tenant, job type, key); None if it has none, or no job can be made.
    ``redirects``: as ``type_of`` takes them."""
    job_type = type_of(letter, redirects) if letter.key else None
    if job_type is None or letter.tenant is None:
        return None
    return letter.tenant.slug, job_type.name, letter.key


def _job_type(letter: DeadLetter, redirects: Redirects | None) -> JobType:
    job_type = type_of(letter, redirects)
    if job_type is None:
        name = letter.job_type or "without a name"
        why = f"job type {name} is not registered; it can be replayed once the name or an alias exists again"
        why += ", or a redirect leads it to another" if letter.job_type else ""
        raise NotReplayable(letter.pk, why)
    return job_type


def _tenant(letter: DeadLetter) -> Tenant:
    if letter.tenant is None:
        raise NotReplayable(letter.pk, "its tenant was deleted")
    if letter.tenant.intake_closed:
        raise NotReplayable(letter.pk, f"tenant {letter.tenant.slug} takes no jobs at present; its intake is closed")
    return letter.tenant
