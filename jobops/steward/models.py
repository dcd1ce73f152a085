"""What the steward remembers between runs."""

from __future__ import annotations

from django.db import models


class CellState(models.Model):
    """The one row that says which Redis data set the database belongs to.

    Redis holds the same random ``epoch``; when the two differ, one of them was flushed or restored. Both note down the
    same ``mark`` every few seconds; a Redis that is far behind was set back to an older state of its own.
    """

    epoch = models.CharField(max_length=64, blank=True)
    epoch_seen_at = models.DateTimeField(null=True, blank=True)
    mark = models.PositiveBigIntegerField(default=0)
    marked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "cell state"
        verbose_name_plural = "cell state"

    def __str__(self) -> str:
        return f"epoch {self.epoch or 'not seen yet'}"
