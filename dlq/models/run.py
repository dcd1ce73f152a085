"""Replay runs: one row for each time that somebody sent a letter back to run."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from dlq.models.bulk import BulkAction
from dlq.models.letter import DeadLetter


class ReplayRun(models.Model):
    """One replay of one letter: the job that it made, and what became of it.

    ``job_id`` is made from the death's identity and the number, so that the same replay asked for twice is one job.
    While the state is ``running``, the letter is ``replaying`` and this is its newest run.
    """

    class State(models.TextChoices):
        RUNNING = "running", "On its way"
        SUCCEEDED = "succeeded", "Succeeded"
        # By contract: the job ended without a dead letter, so its letter is drained too, unless a person had edited
        # the arguments that this was said of.
        DISCARDED = "discarded", "Ended by its contract"
        DIED = "died", "Died again"
        CANCELLED = "cancelled", "Cancelled"
        REFUSED = "refused", "Refused"
        COALESCED = "coalesced", "Taken into a live job with the same key"
        LOST = "lost", "Lost"

    letter = models.ForeignKey(DeadLetter, on_delete=models.CASCADE, related_name="runs", db_index=False)
    number = models.PositiveIntegerField(help_text="From 1.")
    job_id = models.CharField(max_length=200, unique=True)
    bulk = models.ForeignKey(
        BulkAction, null=True, blank=True, on_delete=models.SET_NULL, related_name="runs", db_index=False
    )
    by = models.CharField(max_length=150)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    attempt = models.PositiveIntegerField(default=0, help_text="The attempt in which it ended; 0: it never started.")
    note = models.CharField(max_length=500, blank=True, help_text="What became of it, in words; secrets masked.")
    payload = models.TextField(
        blank=True, default="", db_default="", help_text="The arguments that it ran with, if a person edited them."
    )
    # When the watch looks whether its job is still there.
    check_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["letter", "number"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["letter", "number"], name="replay_run_once")]
        indexes: ClassVar = [
            models.Index(fields=["check_at", "id"], name="replay_run_watch", condition=models.Q(state="running")),
            models.Index(fields=["bulk", "state"], name="replay_run_by_bulk"),
            # What ended lately, the newest first; the report counts what failed off it.
            models.Index(
                fields=["-ended_at", "-id", "state", "letter"],
                name="replay_run_by_end",
                condition=models.Q(ended_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"replay {self.number} of letter {self.letter_id}: {self.state}"
