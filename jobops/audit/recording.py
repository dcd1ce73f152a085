"""Adding to the audit, in the transaction that makes the change: both happen, or neither."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from django.db import connection
from django.utils import timezone

from jobops.audit.inserting import insert_values
from jobops.audit.models import AuditEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.contrib.auth.models import AnonymousUser, User

REASON_LENGTH = 500

_request_id: ContextVar[str] = ContextVar("audit_request_id", default="")


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to one thing. ``action``: ``<kind>.<verb>``. ``before`` and ``after`` hold the fields that
    changed, plain JSON values without payloads or secrets; ``tenant_id`` and ``tenant_slug`` say whose it is."""

    action: str
    target_kind: str
    target_id: str | int
    tenant_id: int | None = None
    tenant_slug: str = ""
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


def record(by: User | AnonymousUser | str, change: Change) -> None:
    """Add one row. ``by``: a signed-in person, ``"command:<login>"``, or what acts by itself (``"scheduler"``).

    Call it in the transaction of the change.
    """
    record_many(by, [change])


def record_many(by: User | AnonymousUser | str, changes: Iterable[Change]) -> None:
    """Add a row for each change, many in one query."""
    actor, kind, user_id = _who(by)
    at = connection.ops.adapt_datetimefield_value(timezone.now())
    before_all = (at, _storable(actor), str(kind), user_id)
    request_id = current_request_id()
    rows = [
        (
            *before_all,
            change.action,
            change.target_kind,
            _storable(str(change.target_id))[:200],
            change.tenant_id,
            change.tenant_slug,
            json.dumps(_storable(dict(change.before))),
            json.dumps(_storable(dict(change.after))),
            _storable(change.reason).strip()[:REASON_LENGTH],
            request_id,
        )
        for change in changes
    ]
    insert_values(AuditEntry._meta.db_table, _WRITTEN, rows)


_WRITTEN = (
    "at", "actor", "actor_kind", "user_id", "action", "target_kind", "target_id", "tenant_id", "tenant_slug", "before",
    "after", "reason", "request_id",
)  # fmt: skip


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What of two states of one thing differs: those fields as they were, and as they are."""
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    was = {name: before[name] for name in changed if name in before}
    return was, {name: after[name] for name in changed if name in after}


def current_request_id() -> str:
    """The id of the request or command that runs in this context; empty where nothing set one."""
    return _request_id.get()


@contextmanager
def request(request_id: str = "") -> Iterator[str]:
    """Rows that are added within carry this id; without one, a new one."""
    chosen = request_id or uuid4().hex
    token = _request_id.set(chosen)
    try:
        yield chosen
    finally:
        _request_id.reset(token)


def _storable(value: Any) -> Any:
    """The value with what no database takes in text, NUL and lone surrogates, spelled out."""
    if isinstance(value, str):
        if value.isascii() and "\0" not in value:
            return value
        return value.encode(errors="backslashreplace").decode().replace("\0", "\\0")
    if isinstance(value, Mapping):
        return {_storable(str(name)): _storable(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(each) for each in value]
    return value


def _who(by: User | AnonymousUser | str) -> tuple[str, str, int | None]:
    if isinstance(by, str):
        kind = AuditEntry.Kind.COMMAND if by.startswith("command:") else AuditEntry.Kind.SYSTEM
        return by[:150], kind, None
    return by.get_username()[:150], AuditEntry.Kind.PERSON, by.pk
