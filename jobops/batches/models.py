"""Batches and what became of their members, as counted last."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone


class Batch(models.Model):
    """Many jobs of one tenant that somebody waits for as one, and the job that runs after them.

    Redis knows the members that have not ended; the counts here are taken from there by a duty of the scheduler. The
    ``then`` job is enqueued once, by whoever moves the state on, in the same transaction.
    """

    class State(models.TextChoices):
        FILLING = "filling", "Being filled"
        RUNNING = "running", "Running"
        # Some member is dead: it goes on when that one's letter is drained.
        STUCK = "stuck", "Waiting for dead members"
        SUCCEEDED = "succeeded", "All succeeded"
        ENDED = "ended", "Ended, not all succeeded"
        CANCELLED = "cancelled", "Cancelled"
        LOST = "lost", "Lost with a flushed Redis"

    OPEN = (State.FILLING, State.RUNNING, State.STUCK)

    id = models.CharField(primary_key=True, max_length=64)
    name = models.CharField(max_length=200, blank=True)
    tenant = models.CharField(max_length=50)
    tenant_uid = models.CharField(max_length=100, blank=True, help_text="The tenant's lasting identity.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.FILLING)
    correlation_id = models.CharField(max_length=200, blank=True)

    total = models.PositiveIntegerField(default=0)
    succeeded = models.PositiveIntegerField(default=0)
    discarded = models.PositiveIntegerField(default=0, help_text="Ended by contract, without a dead letter.")
    cancelled = models.PositiveIntegerField(default=0)
    dead = models.PositiveIntegerField(default=0)

    then_job = models.CharField(max_length=200, blank=True, help_text="The job type to run when all have succeeded.")
    then_data = models.BinaryField(null=True)
    then_lane = models.CharField(max_length=50, blank=True)
    then_job_id = models.CharField(max_length=200, blank=True)

    created_at = models.DateTimeField(default=timezone.now)
    counted_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "batches"
        indexes: ClassVar = [
            models.Index(fields=["-created_at", "-id"], name="batch_newest"),
            models.Index(fields=["tenant", "-created_at", "-id"], name="batch_by_tenant"),
            models.Index(fields=["state", "counted_at"], name="batch_by_state"),
        ]

    def __str__(self) -> str:
        return self.name or self.id
