"""Standing redirects: the new name of a job type whose old one letters still have."""

from typing import ClassVar

from django.db import models
from django.utils import timezone


class Redirect(models.Model):
    """Letters of ``from_type``, which is not registered any more, are replayed as ``to_type``, which is."""

    from_type = models.CharField(max_length=255, unique=True)
    to_type = models.CharField(max_length=255)
    note = models.CharField(max_length=200, blank=True)
    by = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["from_type"]

    def __str__(self) -> str:
        return f"{self.from_type} → {self.to_type}"
