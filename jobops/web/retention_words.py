"""Retention and the reasons for a discard in words. Pure."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from jobops.web.formats import number, plural

if TYPE_CHECKING:
    from jobops.web.selectors.retention import RetentionPage

MOST_DUE = 100_000
"""What is to go already is counted this far."""

DRAINED = "drained dead letter"


def retention_title(found: RetentionPage) -> str:
    """The page in one sentence."""
    total = found.all_teams.total
    if not total:
        return "Nothing is deleted in the next 7 days."
    return f"{plural(total, DRAINED)} {'is' if total == 1 else 'are'} deleted in the next 7 days."


def due_words(found: RetentionPage) -> str:
    """What is to go already; the empty string for nothing."""
    if not found.due:
        return ""
    many = f"{number(found.due)} {'is' if found.due == 1 else 'are'}"
    many = f"More than {number(MOST_DUE)} are" if found.due > MOST_DUE else many
    return f"{many} due already, and go batch by batch while the scheduler runs."


def day_words(day: date, today: date) -> str:
    """``today``, ``Tue 1 Dec``."""
    return "today" if day == today else f"{day:%a} {day.day} {day:%b}"


def reasons_title(offered: int) -> str:
    """The page in one sentence."""
    if not offered:
        return "No reason to choose from: people say it in their own words."
    return f"{plural(offered, 'reason')} to choose from, or one’s own words."
