"""What would help a job that does not run: in words, as a command to type, and as the page where it is done."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from dlq.errors import NotReplayable
from dlq.models import DeadLetter, State
from dlq.redirects import redirects_of
from dlq.replaying import replay_job
from dlq.second_run import is_unknown
from jobops.contracts import registry
from jobops.engine.records import JobView
from jobops.runtime.why_records import OPEN_ENDED, Help, Kind, Link, Reason


def helps_of(reasons: Sequence[Reason], job: JobView) -> tuple[Help, ...]:
    """In the order of the reasons, each once."""
    found: dict[Help, None] = {}
    is_held = any(reason.kind in OPEN_ENDED for reason in reasons)
    for reason in reasons:
        make = _HELPS.get(reason.kind)
        # More workers are no help to a job that none of them may take.
        if make is not None and not (is_held and reason.kind is Kind.SLOTS_BUSY):
            found |= dict.fromkeys(make(reason, job))
    return tuple(found)


def _manage(*words: str) -> str:
    """The command; NAMES in capitals stand for what the person has to choose."""
    return " ".join(("manage.py", *(shlex.quote(word) if word else "''" for word in words)))


def _resume_all(_reason: Reason, _job: JobView) -> list[Help]:
    return [Help("resume all", "resume everything", _manage("resume", "--all"), Link("all", ""))]


def _resume_tenant(_reason: Reason, job: JobView) -> list[Help]:
    what = f"resume the tenant {job.tenant}"
    return [Help("resume tenant", what, _manage("tenants", "resume", job.tenant), Link("tenant", job.tenant))]


def _resume_gate(reason: Reason, _job: JobView) -> list[Help]:
    what = "job type" if reason.kind is Kind.TYPE_PAUSED else "resource"
    return [
        Help(f"resume {what}", f"resume the {what} {reason.name}", _at_gate("resume", reason), _gate_link(reason)),
    ]


def _at_gate(command: str, reason: Reason, *options: str) -> str:
    option = "--job" if _is_type(reason) else "--resource"
    return _manage(*command.split(), option, reason.name, *options)


def _gate_link(reason: Reason) -> Link:
    return Link("type" if _is_type(reason) else "resource", reason.name)


def _is_type(reason: Reason) -> bool:
    of_type = (Kind.TYPE_PAUSED, Kind.TYPE_FULL, Kind.TYPE_RATE)
    return reason.kind in of_type or (reason.link is not None and reason.link.kind == "type")


def _raise_concurrency(reason: Reason, _job: JobView) -> list[Help]:
    command = _at_gate("limits set", reason, "--concurrency", "N", "--reason", "WHY")
    return [Help("raise concurrency", f"raise the concurrency of {reason.name}", command, _gate_link(reason))]


def _raise_rate(reason: Reason, _job: JobView) -> list[Help]:
    command = _at_gate("limits set", reason, "--rate", "N/s", "--reason", "WHY")
    return [Help("raise rate", f"raise the rate of {reason.name}", command, _gate_link(reason))]


def _release_brake(reason: Reason, _job: JobView) -> list[Help]:
    what = f"release the brake of {reason.name}, if what it waits for is well again"
    return [Help("release brake", what, _at_gate("limits release", reason), _gate_link(reason))]


def _tenant_set(action: str, what: str, *options: str) -> Callable[[Reason, JobView], list[Help]]:
    def make(_reason: Reason, job: JobView) -> list[Help]:
        link = Link("tenant", job.tenant)
        return [Help(action, f"{what} of {job.tenant}", _manage("tenants", "set", job.tenant, *options), link)]

    return make


def _raise_lane_cap(reason: Reason, job: JobView) -> list[Help]:
    return [Help("raise lane cap", f"raise the cap of {job.tenant} for the lane {reason.name} (its lane_caps)")]


def _start_worker(_reason: Reason, job: JobView) -> list[Help]:
    what = f"start a worker that serves the lane {job.lane}"
    return [Help("start worker", what, _manage("worker", "--lanes", job.lane))]


def _deploy(_reason: Reason, job: JobView) -> list[Help]:
    deploy = Help("deploy worker", f"deploy a worker whose code has the job type {job.job_type}")
    return [deploy, *_cancel(_reason, job)]


def _start_scheduler(_reason: Reason, _job: JobView) -> list[Help]:
    return [Help("start scheduler", "start a scheduler", _manage("scheduler"))]


def _cancel(_reason: Reason, job: JobView) -> list[Help]:
    return [Help("cancel", "cancel it, if it is not to run", _manage("jobs", "cancel", job.id), Link("job", job.id))]


def _run_now(_reason: Reason, job: JobView) -> list[Help]:
    return [Help("run now", "run it now", _manage("jobs", "run-now", job.id), Link("job", job.id))]


def _stop(_reason: Reason, job: JobView) -> list[Help]:
    return [Help("stop", "stop it, if it is not to run on", _manage("jobs", "stop", job.id), Link("job", job.id))]


def _unpark(_reason: Reason, job: JobView) -> list[Help]:
    what = "push it again, at the risk of a second run"
    return [Help("unpark", what, _manage("jobs", "unpark", job.id)), *_cancel(_reason, job)]


def _held(reason: Reason, job: JobView) -> list[Help]:
    if reason.count is not None:
        make = _tenant_set("raise depth limit", "raise the depth limit", "--depth-limit", "N")
    elif reason.name == "IntakeClosed":
        make = _tenant_set("open intake", "open the intake", "--intake", "open")
    else:
        return []
    return make(reason, job)


def _dead(reason: Reason, job: JobView) -> list[Help]:
    if reason.name != State.OPEN or reason.link is None:
        return []
    letter = reason.link.id
    discard = Help("discard", "discard it", _manage("dlq", "discard", letter, "--reason", "WHY"), reason.link)
    first = _LOOK if is_unknown(job.error_class) else _BEFORE.get(job.reason, "")
    replay = Help("replay", f"{first}replay it", _manage("dlq", "replay", letter), reason.link)
    if registry.resolve(job.job_type) is None and not redirects_of([job.job_type]):  # a replay is refused until then
        first = f"deploy code that has the job type {job.job_type}, to the workers and here; then replay it"
        return [Help("deploy worker", first), discard]
    try:
        replay_job(DeadLetter.objects.select_related("tenant").get(pk=letter))
    except NotReplayable as why:
        return [
            Help("discard", f"discard it (a replay is refused at present: {why.why})", discard.command, discard.link)
        ]
    except DeadLetter.DoesNotExist:
        return []
    return [replay, discard]


_LOOK = "look on the other side whether it took effect, as a replay does it again; if it did not, "
_BEFORE = {
    "poison": "mend the code or the data, as the same run would end the same; then ",
    "timeout": "see why it took so long, or give its job type a longer timeout; then ",
}
"""What comes before a replay, by the reason of the death."""

_HELPS: Mapping[Kind, Callable[[Reason, JobView], list[Help]]] = {
    Kind.PAUSED: _resume_all,
    Kind.TENANT_PAUSED: _resume_tenant,
    Kind.TYPE_PAUSED: _resume_gate,
    Kind.RESOURCE_PAUSED: _resume_gate,
    Kind.TENANT_GONE: _cancel,
    Kind.OUTBOX_PARKED: _unpark,
    Kind.LANE_UNKNOWN: _cancel,
    Kind.NO_WORKER: _start_worker,
    Kind.TYPE_UNKNOWN: _deploy,
    Kind.NO_MOVER: _start_scheduler,
    Kind.RESOURCE_UNKNOWN: _start_scheduler,
    Kind.TENANT_CAP: _tenant_set("raise cap", "raise the cap", "--cap", "N"),
    Kind.LANE_CAP: _raise_lane_cap,
    Kind.RESOURCE_FULL: _raise_concurrency,
    Kind.TYPE_FULL: _raise_concurrency,
    Kind.BRAKED: _release_brake,
    Kind.RESOURCE_RATE: _raise_rate,
    Kind.TYPE_RATE: _raise_rate,
    Kind.TENANT_RATE: _tenant_set("raise rate", "raise the rate", "--rate", "N/s"),
    Kind.OUTBOX_HELD: _held,
    Kind.OUTBOX_REFUSED: _cancel,
    Kind.BACKING_OFF: _run_now,
    Kind.POSTPONED: _run_now,
    Kind.DELAYED: _run_now,
    Kind.SLOTS_BUSY: _start_worker,
    Kind.RUNNING: _stop,
    Kind.DEAD: _dead,
}
