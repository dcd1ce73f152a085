"""That a tenant is paused, said where somebody is about to send its jobs back to run, and while they wait. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from jobops.web.formats import clock, plural
from jobops.web.words import who_paused
from tenants.models import Tenant

MOST_NAMES = 3

Said = tuple[str, str]
"""What stands out, and the rest; both are empty where nothing is paused."""


def paused_sentences(tenant: Tenant, now: datetime, *, sent: bool, staff: bool) -> Said:
    """For one letter: that it is paused, by whom, since when and why. ``sent``: it is being replayed already."""
    what = ("The" if sent else "A") + (" replay" if staff else " new try")
    return _one(tenant, now, f"{what} waits", staff=staff)


def paused_of_many(paused: Sequence[tuple[Tenant, int]], now: datetime, *, sent: bool, staff: bool) -> Said:
    """The same for a bulk action; ``paused``: tenants, each with how many of the jobs are theirs."""
    if not paused:
        return "", ""
    count = sum(count for _, count in paused)
    what = f"{plural(count, 'job')} {'waits' if count == 1 else 'wait'}" if sent else "What is sent back waits"
    if len(paused) == 1:
        return _one(paused[0][0], now, what, staff=staff)
    names = [f"{tenant.slug} {_by(tenant, now, staff=staff)}" for tenant, _ in paused[:MOST_NAMES]]
    if len(paused) > MOST_NAMES:
        names.append(f"{len(paused) - MOST_NAMES:,} more")
    return f"{len(paused):,} tenants are paused:", f"{'; '.join(names)}. {what} until they are resumed."


def _one(tenant: Tenant, now: datetime, what: str, *, staff: bool) -> Said:
    title, until = ("{} is paused,", "it is") if staff else ("The jobs of {} are paused,", "they are")
    name = tenant.slug if staff else str(tenant)
    return title.format(name), f"{_by(tenant, now, staff=staff)}. {what} until {until} resumed."


def _by(tenant: Tenant, now: datetime, *, staff: bool) -> str:
    since = f" since {clock(tenant.paused_at, now)}" if tenant.paused_at else ""
    why = f": “{tenant.pause_reason.rstrip('.')}”" if tenant.pause_reason else ""
    return f"by {who_paused(tenant, staff=staff)}{since}{why}"
