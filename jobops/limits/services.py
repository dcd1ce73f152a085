"""What people do to limits and pauses. Pages and commands call these and nothing else.

Each change is committed with its row in the audit first, and put in force in Redis right after; the answer says whether
it is. With Redis away the scheduler's duty does it later. Callers have asked ``access.can`` before.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from django.db import Error as DatabaseError
from django.db import transaction
from django.utils import timezone
from redis.exceptions import RedisError

from jobops.audit import recording
from jobops.contracts import registry
from jobops.contracts.declared_limits import Limit, declared_limits, effective
from jobops.contracts.discovery import import_faults
from jobops.engine.errors import EngineError, InvalidJob
from jobops.limits import ports, pushing
from jobops.limits.errors import AlreadyPaused, InvalidLimit, NoEngine, NotBraked, NotChanged, NotPaused
from jobops.limits.fields import UNSET, Unset, check_limited, clean_concurrency, clean_rate, clean_reason
from jobops.limits.in_force import limit_of
from jobops.limits.models import LimitChange, Pause
from jobops.limits.targets import EVERYTHING, Target, gates_of, target_of
from jobops.limits.turn import turn

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

log = logging.getLogger("jobops.limits")

# Who does it: a signed-in person, or the name of what acts by itself ("command:root", "scheduler").
Actor: TypeAlias = "User | AnonymousUser | str"


@dataclass(frozen=True, slots=True)
class Change:
    """What a service did. ``in_force``: Redis obeys it already; else ``problem`` says why not yet.

    Once a pause is in force, nothing of its target starts any more.
    """

    target: Target
    in_force: bool
    problem: str = ""


def pause(*, target: Target, by: Actor, reason: str = "") -> Change:
    """Nothing of the target starts any more; what runs finishes, what comes in waits.

    Raises AlreadyPaused (who paused it first, when and why stay; it is tried to be put in force), or InvalidLimit.
    """
    reason = clean_reason(reason, required=False)
    with turn():
        standing = _standing(target)
        if not standing:
            row = Pause.objects.create(target=target.kind, name=target.name, paused_by=_name(by), reason=reason)
            _record("pause", target, by, {"paused": False}, {"paused": True}, reason)
        push = _push_on_commit(target)
    if standing:
        row = standing[0]
        problem = "" if push.in_force else push.problem
        raise AlreadyPaused(str(target), by=row.paused_by, since=row.paused_at, reason=row.reason, problem=problem)
    return _done("paused", target, by, push)


def resume(*, target: Target, by: Actor, reason: str = "") -> Change:
    """Lets it start again. Raises NotPaused; Redis is told all the same, as after a restored database."""
    reason = clean_reason(reason, required=False)
    with turn():
        standing = _standing(target)
        gates = frozenset(gate for row in standing for gate in gates_of(target_of(row)))
        if standing:
            Pause.objects.filter(pk__in=[row.pk for row in standing]).delete()
            _record("resume", target, by, {"paused": True}, {"paused": False}, reason)
        push = _push_on_commit(target, gates)
    if not standing:
        raise NotPaused(str(target))
    return _done("resumed", target, by, push)


def limit_set(
    *,
    target: Target,
    by: Actor,
    reason: str,
    concurrency: int | Unset | None = UNSET,
    rate: str | Unset | None = UNSET,
) -> Change:
    """Put these in place of what the contracts declare, until they are reset. What is not given stays as it is now.

    Raises InvalidLimit.
    """
    check_limited(target)
    reason = clean_reason(reason, required=True)
    if isinstance(concurrency, Unset) and isinstance(rate, Unset):
        raise InvalidLimit("concurrency", "give a concurrency, a rate or both")
    given: dict[str, Any] = {}
    if not isinstance(concurrency, Unset):
        given["concurrency"] = clean_concurrency(concurrency)
    if not isinstance(rate, Unset):
        given["rate"] = clean_rate(rate)
    with turn():
        row = LimitChange.objects.filter(resource=target.gate).first()
        before = facts_of(limit_of(row) if row is not None else _declared(target))
        after = {**before, **given}
        marks = {"changed_by": _name(by), "changed_at": timezone.now(), "reason": reason}
        LimitChange.objects.update_or_create(resource=target.gate, defaults={**after, **marks})
        _record("set", target, by, before, after, reason)
        push = _push_on_commit(target, limit=True)
    return _done("limited", target, by, push)


def limit_reset(*, target: Target, by: Actor, reason: str = "") -> Change:
    """Take the change back: what the contracts declare holds again. Raises NotChanged or InvalidLimit."""
    check_limited(target)
    reason = clean_reason(reason, required=False)
    with turn():
        row = LimitChange.objects.filter(resource=target.gate).first()
        if row is None:
            raise NotChanged(str(target))
        row.delete()
        _record("reset", target, by, facts_of(limit_of(row)), facts_of(_declared(target)), reason)
        push = _push_on_commit(target, limit=True)
    return _done("reset", target, by, push)


def brake_release(*, target: Target, by: Actor, reason: str = "") -> None:
    """Take the brake off: what waits for it goes on as its limits allow.

    Raises NotBraked, InvalidLimit, ``redis.RedisError`` or NoEngine. The brake is in Redis alone; the audit is told
    afterwards.
    """
    check_limited(target)
    reason = clean_reason(reason, required=False)
    try:
        released = ports.engine().scripts.release_gate(target.gate)
    except InvalidJob as error:  # a name that came into Redis or a row past all checks
        raise InvalidLimit("name", str(error)) from None
    if not released:
        raise NotBraked(str(target))
    _record("release", target, by, {"braked": True}, {"braked": False}, reason)
    log.info("%s took the brake off %s", _name(by), target)


def facts_of(limit: Limit) -> dict[str, Any]:
    """A limit as rows and the audit hold it."""
    return {"concurrency": limit.concurrency, "rate": str(limit.rate) if limit.rate is not None else ""}


@dataclass(slots=True)
class Push:
    """Puts the rows in force when they are committed; afterwards it tells whether they are.

    It never raises: an error in a commit hook would keep the other hooks of that transaction from running.
    """

    target: Target
    gates: frozenset[str] = field(default_factory=frozenset)
    limit: bool = False
    in_force: bool = False
    problem: str = "it takes effect when the surrounding transaction commits"

    def __call__(self) -> None:
        """Carry to Redis what the rows say by now."""
        try:
            self.in_force = self._push()
            self.problem = (
                "" if self.in_force else "a module of job types cannot be imported here; the scheduler sees to it"
            )
        except (RedisError, EngineError) as error:
            self.problem = f"Redis could not be reached ({type(error).__name__}); the scheduler does it later"
            log.warning("%s was not put in force: %s", self.target, error)
        except NoEngine as error:
            self.problem = str(error)
        except DatabaseError as error:
            self.problem = f"the database failed after the commit ({type(error).__name__}); the scheduler does it later"
            log.warning("%s was not put in force: %s", self.target, error)

    def _push(self) -> bool:
        engine = ports.engine()
        if self.limit:
            # Taken back, and no contract declares anything: nothing limits it, as all that could be imported was.
            nothing = None if import_faults() else Limit()
            return pushing.push_limit(engine, self.target.gate, otherwise=nothing)
        if self.target == EVERYTHING:
            pushing.push_everything_paused(engine)
        else:
            pushing.push_pauses(engine, self.gates)
        return True


def _push_on_commit(target: Target, gates: frozenset[str] = frozenset(), *, limit: bool = False) -> Push:
    push = Push(target, gates | gates_of(target), limit)
    transaction.on_commit(push)
    return push


def _standing(target: Target) -> list[Pause]:
    """The rows that pause it, the first one first: also one that was made under a former name of the job type."""
    rows = Pause.objects.filter(target=target.kind).order_by("paused_at", "pk")
    gates = gates_of(target)
    return [row for row in rows if row.name == target.name or gates_of(target_of(row)) & gates]


def _declared(target: Target) -> Limit:
    return effective(target.gate, declared_limits(registry.all_types()))


def _record(verb: str, target: Target, by: Actor, before: dict[str, Any], after: dict[str, Any], reason: str) -> None:
    was, now = recording.difference(before, after)
    name = target.name or "everything"
    kind = target.audit_kind
    recording.record(by, recording.Change(f"{kind}.{verb}", kind, name, before=was, after=now, reason=reason))


def _done(what: str, target: Target, by: Actor, push: Push) -> Change:
    log.info("%s %s %s", _name(by), what, target)
    return Change(target, push.in_force, push.problem)


def _name(by: Actor) -> str:
    return (by if isinstance(by, str) else by.get_username())[:150]
