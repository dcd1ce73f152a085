"""Pauses and changed limits: the truth in the database, of which Redis holds a copy."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone


class Pause(models.Model):
    """Nothing of this target starts until the row is deleted. A tenant's pause is kept with the tenant."""

    class Target(models.TextChoices):
        ALL = "all", "Everything"
        TYPE = "type", "Job type"
        RESOURCE = "resource", "Resource"

    target = models.CharField(max_length=10, choices=Target.choices)
    name = models.CharField(max_length=200, blank=True, help_text="Of the job type or resource; empty: everything.")
    # A name, not a key to a user: a pause from a command line has no user, and it outlives the account.
    paused_by = models.CharField(max_length=150)
    paused_at = models.DateTimeField(default=timezone.now)
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["target", "name"], name="pause_once")]

    def __str__(self) -> str:
        return f"{self.target} {self.name}".strip()


class LimitChange(models.Model):
    """What operators put in place of the limits that contracts declare for a resource, until they take it back."""

    resource = models.CharField(max_length=210, unique=True, help_text="Or a job type, as type:<name>.")
    concurrency = models.PositiveIntegerField(null=True, blank=True, help_text="Most jobs in flight; empty: any.")
    rate = models.CharField(max_length=40, blank=True, help_text='Most starts, such as "50/s"; empty: any.')
    changed_by = models.CharField(max_length=150)
    changed_at = models.DateTimeField(default=timezone.now)
    reason = models.CharField(max_length=500, blank=True)

    def __str__(self) -> str:
        return self.resource
