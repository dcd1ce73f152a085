"""Claims: one process pushes a row at a time, and only the holder of a row's token marks what became of it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils import timezone

from jobops.context.models import OutboxEntry
from jobops.context.outbox_rows import rows


@dataclass(frozen=True, slots=True)
class Claimed:
    """Rows that this process may push until ``deadline`` (local clock, seconds)."""

    rows: list[OutboxEntry]
    token: str
    deadline: float

    def without(self, ids: set[str]) -> Claimed:
        """The same claim on the rows that are not in ``ids``."""
        return Claimed([row for row in self.rows if row.id not in ids], self.token, self.deadline)

    def only(self, ids: set[str]) -> Claimed:
        """The same claim on the rows that are in ``ids``."""
        return Claimed([row for row in self.rows if row.id in ids], self.token, self.deadline)

    def mine(self) -> QuerySet[OutboxEntry]:
        """Those of the rows that nobody else has claimed meanwhile."""
        return rows().filter(pk__in=[row.pk for row in self.rows], claim_token=self.token)

    def give_back(self, error: Exception) -> None:
        """Redis is away: the rows wait, and are in doubt from their first push on."""
        self.mine().update(claim_token="", next_try_at=timezone.now(), last_error=error_line(error))


def error_line(error: Exception) -> str:
    """The error as a row keeps it."""
    return f"{type(error).__name__}: {error}"[:2000].replace("\0", "\\0")
