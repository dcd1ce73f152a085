"""One round: every check, and the remedy of what they find if it is wanted.

The system goes on meanwhile. So nothing is told that was not seen in one atomic look, or in two with some time
between them, and every remedy looks again before it writes: two doctors at once are as right as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from django.db import transaction
from redis.exceptions import ResponseError

from jobops.audit.recording import Change, record
from jobops.doctor.findings import Finding, NotRepaired
from jobops.doctor.report import Report
from jobops.doctor.site import Site
from jobops.engine.errors import EngineError
from jobops.engine.link import is_away
from tenants.errors import TenantError
from tenants.models import Tenant

Check = Callable[[Site], Iterator[Finding]]
"""Looks at one thing and yields what is wrong with it. It goes on after a finding, also when that was mended."""

_REFUSED = (ResponseError, EngineError, TenantError)
"""What one key of another form, or a Redis without a command, answers. Others need not wait for it to be mended."""


def examine(site: Site, checks: Iterable[Check], *, repair: bool = False, by: str = "doctor") -> Report:
    """Run the checks in their order; with ``repair``, apply each remedy at once and record it in the audit as ``by``.

    Raises ``redis.RedisError`` and ``django.db.Error`` when a store is away.
    """
    report = Report(looked_at=site.looked_at)
    for check in checks:
        try:
            for finding in check(site):
                report.add(_treated(finding, by) if repair and finding.remedy else finding)
        except _REFUSED as error:
            if is_away(error):
                raise
            report.add(unreadable("check", check.__module__.rpartition(".")[2], error))
    return report


def unreadable(kind: str, name: str, error: Exception) -> Finding:
    """Something holds data of another form, so that nobody can tell whether it is right."""
    return Finding("unreadable", kind, name, f"cannot be read: {type(error).__name__}: {str(error)[:300]}")


def _treated(finding: Finding, by: str) -> Finding:
    try:
        if not finding.in_database:
            # Its remedy commits by itself, as what it calls must.
            done = _apply(finding)
            _note(finding, done, by)
        else:
            with transaction.atomic():
                done = _apply(finding)
                _note(finding, done, by)
    except NotRepaired as error:
        return replace(finding, done=f"not repaired: {error}")
    except _REFUSED as error:
        if is_away(error):
            raise
        return replace(finding, done=f"not repaired: {type(error).__name__}: {str(error)[:300]}")
    return replace(finding, repaired=True, done=done or "right when looked at again")


def _apply(finding: Finding) -> str:
    assert finding.remedy is not None
    return finding.remedy()


def _note(finding: Finding, done: str, by: str) -> None:
    """The row of the audit; none when somebody else was faster, or the system itself."""
    if not done:
        return
    tenant_id = Tenant.objects.filter(slug=finding.tenant).values_list("pk", flat=True).first()
    change = Change(
        action=f"{finding.kind}.mend",
        target_kind=finding.kind,
        target_id=finding.name,
        tenant_id=tenant_id,
        tenant_slug=finding.tenant,
        after={"found": finding.code, "done": done},
        reason=finding.text,
    )
    record(by, change)
