"""Bulk actions: one thing done to many letters, whose membership was fixed before it was confirmed."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from dlq.models.letter import DeadLetter


class BulkAction(models.Model):
    """A replay, discard or undo of many letters. Made as a draft with all its members; what dies later is not in it.

    ``matched`` members were chosen; ``done`` and ``skipped`` of them are dealt with. Work goes on where it was after
    any process dies: each member is dealt with in the transaction that counts it.
    """

    class Kind(models.TextChoices):
        REPLAY = "replay", "Replay"
        DISCARD = "discard", "Discard"
        UNDO = "undo", "Undo of a discard"

    class State(models.TextChoices):
        DRAFT = "draft", "Not confirmed yet"
        RUNNING = "running", "Running"
        PAUSED = "paused", "Paused"
        FINISHED = "finished", "Finished"
        CANCELLED = "cancelled", "Cancelled"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    by = models.CharField(max_length=150)
    by_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    chosen = models.CharField(max_length=500, blank=True, help_text="How: the filter as a query string, or `ticked`.")
    reason = models.CharField(max_length=500, blank=True)
    from_start = models.BooleanField(
        default=False, db_default=False, help_text="Of a replay: its jobs begin anew, and not at their checkpoints."
    )
    undoes = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    request_id = models.CharField(max_length=64, blank=True)

    matched = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    skipped_for = models.JSONField(default=dict, help_text="Reason → how many.")

    created_at = models.DateTimeField(default=timezone.now, help_text="When its members were fixed.")
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["state", "id"], name="bulk_action_by_state")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.matched} letters by {self.by}: {self.state}"


class BulkMember(models.Model):
    """One letter of a bulk action, and what was done about it.

    Without constraints on its keys, which PostgreSQL would check row by row: a draft of 100,000 letters is made of ids
    that one statement has just read, while a person waits.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DONE = "done", "Done"
        SKIPPED = "skipped", "Skipped"

    bulk = models.ForeignKey(
        BulkAction, on_delete=models.CASCADE, related_name="members", db_index=False, db_constraint=False
    )
    letter = models.ForeignKey(DeadLetter, on_delete=models.CASCADE, related_name="memberships", db_constraint=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    why = models.CharField(max_length=200, blank=True, help_text="Why it was skipped.")
    canary = models.BooleanField(default=False, db_default=False, help_text="Of a replay: runs before the others.")

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["bulk", "letter"], name="bulk_member_once")]
        indexes: ClassVar = [
            models.Index(fields=["bulk", "state", "id"], name="bulk_member_by_state"),
            # The canary of a replay, which is looked at again and again while it runs.
            models.Index(fields=["bulk", "state", "id"], name="bulk_member_canary", condition=models.Q(canary=True)),
        ]

    def __str__(self) -> str:
        return f"letter {self.letter_id} of bulk action {self.bulk_id}: {self.state}"
