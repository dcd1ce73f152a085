"""The reasons for a discard that people choose from."""

from typing import ClassVar

from django.db import models
from django.utils import timezone


class DiscardReason(models.Model):
    """One entry of the list. A letter keeps the words it was discarded with, whatever becomes of the entry."""

    text = models.CharField(max_length=100, unique=True)
    position = models.PositiveIntegerField(default=0)
    retired = models.BooleanField(default=False, help_text="Not offered any more.")
    by = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["position", "id"]

    def __str__(self) -> str:
        return self.text
