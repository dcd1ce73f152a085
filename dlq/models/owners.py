"""Ownership rules, and changes of many letters that go on in batches."""

from typing import ClassVar

from django.db import models
from django.utils import timezone


class RuleSet(models.Model):
    """One version of the ownership rules, as the text that people edit. The newest one is in force; none is changed."""

    text = models.TextField(blank=True)
    by = models.CharField(max_length=150)
    note = models.CharField(max_length=200, blank=True, help_text="Why it was changed.")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return f"rules {self.pk} by {self.by}"


class LetterChange(models.Model):
    """A change of all undrained letters of a group, or of all there are, that goes on in batches after its first ones.

    Resumable: ``last_id`` moves in the transaction that changes the letters up to it. What dies after ``upto_id`` is
    none of its concern: the intake reads from the group, and from the rules, what is in force.
    """

    class Kind(models.TextChoices):
        OWNER = "owner", "Owner, severity and due time"
        CLOCK = "clock", "Pause of the clock"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    group = models.ForeignKey(
        "dlq.DeadLetterGroup", null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    what = models.JSONField(default=dict, help_text="What the change needs to know, by its kind.")
    last_id = models.BigIntegerField(default=0)
    upto_id = models.BigIntegerField()
    changed = models.IntegerField(default=0)
    by = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["id"]
        indexes: ClassVar = [
            models.Index(fields=["id"], name="dl_change_going_on", condition=models.Q(ended_at__isnull=True))
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.group_id or 'all'}: up to {self.last_id} of {self.upto_id}"
