"""Causes: new ones and those that came back, and how much lies in the dead-letter queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlencode

from dlq.models import DeadLetterGroup
from jobops.alerts.signals.base import Reading, Signal
from jobops.alerts.sources import Sources
from jobops.contracts.catalog.words import plural

NEW_FOR = timedelta(hours=24)
"""A cause that began or came back longer ago begins no episode: after an update nobody is told of years of causes."""
MOST_LETTERS, MOST_OF_A_TEAM = 10_000_000, 1_000

OF_A_CAUSE = (frozenset({"group", "job_type", "team"}),)
"""The parts of ``group_scope``."""

_KNOWN = (DeadLetterGroup.State.ACKNOWLEDGED, DeadLetterGroup.State.SNOOZED)


def new_causes(sources: Sources) -> Iterator[Reading]:
    """One for each cause with undrained letters: from its first death until it is drained."""
    ended = sources.ended_lately("new_cause", NEW_FOR)
    for group in sources.groups:
        began = max(filter(None, (group.first_seen_at, group.reopened_at)))
        # Whose discard was undone is no news: nothing died since people were told that it is over.
        newest = max(filter(None, (group.created_at, group.last_seen_at, group.reopened_at)))
        over_at = ended.get(f"new_cause:{group_subject(group)}")
        again = group.reopened_at is not None and group.reopened_at >= group.first_seen_at
        what = f"{'Back again' if again else 'A new cause'}: {group.title or group.error_class or group.job_type}"
        yield Reading(
            subject=group_subject(group),
            value=group.undrained,
            title=what,
            detail=f"{group_counts(group)}; job type {group.job_type}",
            scope=group_scope(group),
            owner=group.owner,
            path=group_path(group),
            due_at=group.due_at,
            severity=group.severity,
            opens=sources.now - began < NEW_FOR and (over_at is None or newest > over_at),
            known_by=group.state_by or "somebody" if group.state in _KNOWN else "",
        )


def team_backlogs(sources: Sources) -> Iterator[Reading]:
    """Undrained letters by team; and by tenant, where a rule names tenants."""
    sums: Counter[str] = Counter()
    for group in sources.groups:
        sums[group.owner] += group.undrained
    for owner, count in sums.items():
        yield Reading(
            subject=f"team={owner}",
            value=count,
            title=f"{owner} has {plural(count, 'dead letter')} to drain",
            scope={"team": owner},
            owner=owner,
            path=f"/dlq/?{urlencode({'owner': owner})}",
        )
    for slug, count in sources.letters_by_tenant("dead_letters"):
        yield Reading(
            subject=f"tenant={slug}",
            value=count,
            title=f"{plural(count, 'dead letter')} of {slug} wait to be drained",
            scope={"tenant": slug},
            path=f"/dlq/?tenant={slug}",
        )


def all_letters(sources: Sources) -> Iterator[Reading]:
    """Rows in the table, drained ones too."""
    count = sources.letters_kept
    title = f"{count:,} dead letters are kept: drain, and have retention purge what is drained"
    yield Reading("all", count, title, path="/settings/retention/")


def group_subject(group: DeadLetterGroup) -> str:
    """As keys name a cause."""
    return f"group={group.pk}"


def group_scope(group: DeadLetterGroup) -> dict[str, object]:
    """What rules and silences know of a cause."""
    return {"group": group.pk, "job_type": group.job_type, "team": group.owner}


def group_path(group: DeadLetterGroup) -> str:
    """Its page."""
    return f"/dlq/groups/{group.pk}/"


def group_counts(group: DeadLetterGroup) -> str:
    """What is left to drain, and what there ever was: tenants are counted over all deaths, not over what is left."""
    ever = plural(group.deaths, "death")
    if group.tenants:
        ever += f" of {plural(group.tenants, 'tenant')}"
    return f"{plural(group.undrained, 'dead letter')} to drain; {ever} in all"


SIGNALS = (
    Signal(
        name="new_cause",
        title="A new cause, or one that came back",
        unit="dead letters",
        threshold=0,
        clears_at=0,
        for_s=0,
        calm_s=60,
        severity="normal",
        about="Undrained dead letters of a cause that began, or came back after it was drained, in the last 24 hours.",
        read=new_causes,
        parts=OF_A_CAUSE,
    ),
    Signal(
        name="dead_letters",
        title="Many dead letters",
        unit="dead letters",
        threshold=MOST_OF_A_TEAM,
        clears_at=MOST_OF_A_TEAM * 0.8,
        for_s=60,
        calm_s=300,
        severity="normal",
        about="Undrained dead letters of a team's causes; of a tenant, where a rule names tenants.",
        read=team_backlogs,
        parts=(frozenset({"team"}), frozenset({"tenant"})),
    ),
    Signal(
        name="letters_kept",
        title="The table of dead letters is large",
        unit="dead letters",
        threshold=MOST_LETTERS,
        clears_at=MOST_LETTERS * 0.95,
        for_s=60,
        calm_s=600,
        severity="high",
        about="All rows, drained ones too: an open one is never deleted, however many there are.",
        read=all_letters,
    ),
)
