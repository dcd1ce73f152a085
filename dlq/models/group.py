"""Groups: dead letters of one cause, with what people said and decided about it, and with counts that are kept."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from dlq.models.letter import Severity
from tenants.models import Tenant


class DeadLetterGroup(models.Model):
    """All dead letters with one fingerprint. Never deleted: it remembers what was known about a cause when it returns.

    The counts change in the transaction that changes a letter's state, after the letters, in the order of the groups'
    ids (``dlq.causes.counting``). ``due_at`` is the earliest of its undrained letters; empty when there is none.
    """

    class State(models.TextChoices):
        ACTIVE = "active", "Active"
        ACKNOWLEDGED = "acknowledged", "Acknowledged"
        SNOOZED = "snoozed", "Snoozed"
        DRAINED = "drained", "Drained"

    fingerprint = models.CharField(max_length=64, unique=True)
    title = models.CharField(max_length=300, blank=True, help_text="The error in one line, what varies taken out.")
    job_type = models.CharField(max_length=255, blank=True)
    error_class = models.CharField(max_length=255, blank=True)
    culprit = models.CharField(max_length=300, blank=True, help_text="The innermost frame of our own code.")

    open = models.IntegerField(default=0)
    replaying = models.IntegerField(default=0)
    resolved = models.IntegerField(default=0)
    discarded = models.IntegerField(default=0)
    purged = models.IntegerField(default=0, help_text="Letters that retention deleted.")
    deaths = models.BigIntegerField(default=0, help_text="Every death, those of replays too.")
    tenants = models.IntegerField(default=0, help_text="How many tenants were ever hit.")
    first_seen_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(default=timezone.now, help_text="The newest death.")
    due_at = models.DateTimeField(null=True, blank=True)
    sample_id = models.BigIntegerField(null=True, blank=True, help_text="The letter of the newest death.")

    owner = models.CharField(max_length=100, blank=True)
    owned_by = models.CharField(max_length=200, blank=True, help_text="What decided that: a rule, or who did.")
    by_hand = models.BooleanField(default=False, help_text="A person decided: no rule changes it.")
    severity = models.CharField(max_length=10, choices=Severity.choices, default=Severity.NORMAL)
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    assigned_at = models.DateTimeField(null=True, blank=True)

    state = models.CharField(max_length=15, choices=State.choices, default=State.ACTIVE)
    state_by = models.CharField(max_length=150, blank=True)
    state_at = models.DateTimeField(null=True, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True)
    snoozed_to_deaths = models.BigIntegerField(null=True, blank=True, help_text="Awake again at so many deaths.")
    snoozed_to_tenants = models.IntegerField(null=True, blank=True, help_text="Awake again at so many tenants.")
    reopened_at = models.DateTimeField(null=True, blank=True, help_text="When a death woke it last.")
    reopened_from = models.CharField(max_length=15, blank=True, help_text="The state it was woken from.")
    reopenings = models.IntegerField(default=0)

    clock_paused_at = models.DateTimeField(null=True, blank=True)
    clock_paused_until = models.DateTimeField(null=True, blank=True)
    clock_pause_reason = models.CharField(max_length=200, blank=True)
    clock_paused_by = models.CharField(max_length=150, blank=True)

    ticket_url = models.CharField(max_length=500, blank=True)
    runbook_url = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["due_at", "id"]
        indexes: ClassVar = [
            models.Index(fields=["due_at", "id"], name="dl_group_by_due"),
            models.Index(fields=["-last_seen_at", "-id"], name="dl_group_by_last"),
            models.Index(fields=["-open", "-id"], name="dl_group_by_open"),
            models.Index(fields=["owner", "due_at", "id"], name="dl_group_by_owner"),
            models.Index(fields=["job_type", "id"], name="dl_group_by_job"),
            models.Index(
                fields=["snoozed_until", "id"], name="dl_group_snoozed", condition=models.Q(snoozed_until__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title or self.error_class or self.fingerprint}: {self.undrained} undrained"

    @property
    def undrained(self) -> int:
        """Letters that somebody still has to deal with."""
        return self.open + self.replaying

    @property
    def total(self) -> int:
        """All letters that it ever had."""
        return self.open + self.replaying + self.resolved + self.discarded + self.purged


class GroupTenant(models.Model):
    """What one tenant has of a group: the counts that its own people see. Letters without a tenant are in none."""

    group = models.ForeignKey(DeadLetterGroup, on_delete=models.CASCADE, related_name="shares", db_index=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    open = models.IntegerField(default=0)
    replaying = models.IntegerField(default=0)
    resolved = models.IntegerField(default=0)
    discarded = models.IntegerField(default=0)
    purged = models.IntegerField(default=0)
    deaths = models.BigIntegerField(default=0)
    first_seen_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["group", "tenant"], name="dl_group_tenant_once")]
        indexes: ClassVar = [models.Index(fields=["tenant", "group"], name="dl_group_tenant_own")]

    def __str__(self) -> str:
        return f"group {self.group_id} of tenant {self.tenant_id}: {self.open} open"


class GroupSpan(models.Model):
    """Five minutes of a group: how many died and how many were drained. Kept for as long as charts and forecasts look
    back."""

    group = models.ForeignKey(DeadLetterGroup, on_delete=models.CASCADE, related_name="spans", db_index=False)
    at = models.DateTimeField(help_text="When the five minutes begin, on a multiple of five.")
    deaths = models.IntegerField(default=0)
    drained = models.IntegerField(default=0)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["group", "at"], name="dl_group_span_once")]
        indexes: ClassVar = [models.Index(fields=["at", "group"], name="dl_group_span_by_time")]

    def __str__(self) -> str:
        return f"group {self.group_id} at {self.at}: {self.deaths} deaths, {self.drained} drained"


class GroupNote(models.Model):
    """What a person wrote about a cause. Survives every replay."""

    group = models.ForeignKey(DeadLetterGroup, on_delete=models.CASCADE, related_name="notes", db_index=False)
    by = models.CharField(max_length=150)
    text = models.TextField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["group", "-id"], name="dl_group_note_newest")]

    def __str__(self) -> str:
        return f"{self.by} about group {self.group_id}"
