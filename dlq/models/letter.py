"""Dead letters: the durable record of a job that gave up."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from tenants.models import Tenant


class State(models.TextChoices):
    """Where a letter stands. Undrained are open and replaying; drained are resolved and discarded."""

    OPEN = "open", "Open"
    REPLAYING = "replaying", "Replaying"
    RESOLVED = "resolved", "Resolved"
    DISCARDED = "discarded", "Discarded"


UNDRAINED = (State.OPEN, State.REPLAYING)


class Reason(models.TextChoices):
    """Why the job gave up."""

    EXHAUSTED = "exhausted", "Attempts spent"
    POISON = "poison", "Poison"
    WORKER_LOST = "worker_lost", "Worker lost"
    TIMEOUT = "timeout", "Timed out"
    UNRESOLVABLE = "unresolvable", "Unresolvable"
    # Only of a letter whose job's record was damaged or gone before anybody could read it.
    UNKNOWN = "unknown", "Unknown"


class Severity(models.TextChoices):
    """How much it matters that it is drained in time: what an alert about it says, and whom it wakes."""

    LOW = "low", "Low"
    NORMAL = "normal", "Normal"
    HIGH = "high", "High"
    CRITICAL = "critical", "Critical"


class DeadLetter(models.Model):
    """One job that gave up, with all that a person needs and Redis will no longer have.

    All text is capped and free of control characters. A letter belongs to its tenant by key; the slug beside it is
    for people and for letters whose tenant was deleted: another customer may get the same slug later.

    Its state changes through ``dlq.services`` and ``dlq.endings`` only, as ``dlq.states`` allows. The clock
    (``dead_at``, ``due_at``) is set once: a death of a replay changes what is told of it, never when it is due. Only a
    rule, a person who hands it on, or a pause with a reason moves ``due_at``.
    """

    job_id = models.CharField(max_length=200)
    attempt = models.PositiveIntegerField(help_text="The attempt it died in; with the job's id, the death's identity.")
    tenant = models.ForeignKey(
        Tenant, null=True, blank=True, on_delete=models.SET_NULL, related_name="dead_letters", db_index=False
    )
    tenant_slug = models.CharField(max_length=50, blank=True)
    lane = models.CharField(max_length=50, blank=True)
    queue = models.CharField(max_length=120, blank=True)
    job_type = models.CharField(max_length=255, blank=True)

    payload = models.TextField(blank=True, help_text='JSON {"args": […], "kwargs": {…}}; empty if undecodable.')
    payload_raw = models.BinaryField(null=True, help_text="The job's data as it was, if it cannot be decoded.")
    placeholder = models.BooleanField(default=False, help_text="The job's record was gone or could not be stored.")

    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    reason = models.CharField(max_length=20, choices=Reason.choices)
    error_class = models.CharField(max_length=255, blank=True)
    error = models.TextField(blank=True)
    traceback = models.TextField(blank=True)
    attempts = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(default=0)
    history = models.JSONField(default=list, help_text="Every attempt: n, worker, start, end, outcome, error.")

    checkpoint = models.TextField(blank=True, default="", db_default="", help_text="JSON: what a replay resumes from.")
    checkpoint_at = models.DateTimeField(null=True, blank=True, help_text="When it was saved, if that is known.")
    progress_done = models.BigIntegerField(null=True, blank=True)
    progress_total = models.BigIntegerField(null=True, blank=True)
    batch = models.CharField(max_length=64, blank=True, default="", db_default="")

    # Without a constraint and an index of its own: groups are never deleted, and lists have theirs below.
    group = models.ForeignKey(
        "dlq.DeadLetterGroup",
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        related_name="letters",
        db_index=False,
        db_constraint=False,
        help_text="Its cause. Empty only of a letter from before there were groups, until a duty has found its own.",
    )

    owner = models.CharField(max_length=100)
    owned_by = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="What decided that: a rule, or who did."
    )
    by_hand = models.BooleanField(default=False, db_default=False, help_text="A person decided: no rule changes it.")
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    severity = models.CharField(
        max_length=10, choices=Severity.choices, default=Severity.NORMAL, db_default=Severity.NORMAL.value
    )
    sla_s = models.PositiveIntegerField(default=0, db_default=0, help_text="Its drain SLA in seconds; 0: not known.")
    due_at = models.DateTimeField()
    clock_paused_at = models.DateTimeField(null=True, blank=True)
    clock_paused_until = models.DateTimeField(
        null=True, blank=True, help_text="`due_at` counts with this pause already; past: it is over."
    )
    clock_pause_reason = models.CharField(max_length=200, blank=True, default="", db_default="")
    clock_paused_s = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Seconds of all pauses that `due_at` counts with."
    )
    dead_at = models.DateTimeField()
    enqueued_at = models.DateTimeField(null=True, blank=True)
    correlation_id = models.CharField(max_length=200, blank=True)
    key = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    replays = models.PositiveIntegerField(default=0, help_text="How often it was sent back to run.")
    replay_job_id = models.CharField(max_length=200, blank=True, help_text="The newest replay's job.")
    last_died_at = models.DateTimeField(null=True, blank=True, help_text="Its newest death; `dead_at` is the first.")
    note = models.CharField(max_length=500, blank=True, help_text="What the last replay came to; secrets masked.")
    discard_reason = models.CharField(max_length=500, blank=True)
    drained_by = models.CharField(max_length=150, blank=True)
    drained_at = models.DateTimeField(null=True, blank=True)
    drain_s = models.PositiveIntegerField(
        null=True, blank=True, help_text="Seconds that its clock showed when it was drained, pauses left out."
    )
    # Without a constraint and an index: a bulk action that ran is never deleted, so nobody looks for letters by it.
    discarded_in = models.ForeignKey(
        "dlq.BulkAction",
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_index=False,
        db_constraint=False,
        help_text="The bulk action that discarded it, as long as that stands.",
    )

    tenant_uid: str = ""
    """Not stored: whose job it was, by the tenant's lasting identity."""

    class Meta:
        ordering: ClassVar = ["-dead_at", "-id"]
        constraints: ClassVar = [
            # What makes a second intake of the same death a no-op.
            models.UniqueConstraint(fields=["job_id", "attempt"], name="dead_letter_once"),
            # Nothing dies without an owner, whoever writes the row.
            models.CheckConstraint(condition=~models.Q(owner=""), name="dead_letter_owned"),
        ]
        indexes: ClassVar = [
            # Lists page by key in these orders.
            models.Index(fields=["state", "-dead_at", "-id"], name="dead_letter_by_state"),
            models.Index(fields=["tenant", "state", "-dead_at", "-id"], name="dead_letter_by_tenant"),
            models.Index(fields=["state", "due_at", "id"], name="dead_letter_by_due"),
            # Counts by tenant, and how many of them are late, are read off this index alone.
            models.Index(fields=["state", "tenant", "due_at"], name="dead_letter_counts"),
            # One filter and the order of the due times.
            models.Index(fields=["tenant", "state", "due_at", "id"], name="dead_letter_tenant_due"),
            models.Index(fields=["state", "job_type", "due_at", "id"], name="dead_letter_job_due"),
            models.Index(fields=["state", "owner", "due_at", "id"], name="dead_letter_owner_due"),
            models.Index(fields=["state", "error_class", "due_at", "id"], name="dead_letter_error_due"),
            models.Index(fields=["state", "reason", "due_at", "id"], name="dead_letter_reason_due"),
            models.Index(fields=["state", "severity", "due_at", "id"], name="dead_letter_severity_due"),
            models.Index(fields=["group", "state", "due_at", "id"], name="dead_letter_group_due"),
            # What tenants have of causes, and one tenant's letters of one cause.
            models.Index(fields=["tenant", "group", "state", "due_at", "id"], name="dead_letter_tenant_group"),
            models.Index(
                fields=["assignee", "state", "due_at", "id"],
                name="dead_letter_mine",
                condition=models.Q(assignee__isnull=False),
            ),
            # What was drained in a period: retention reads its order; the report reads all it needs of the long rows,
            # and what breached by cause, off the index alone.
            models.Index(
                fields=["drained_at", "id"], name="dead_letter_drained", condition=models.Q(drained_at__isnull=False)
            ),
            models.Index(
                fields=["drained_at", "owner", "state", "drain_s", "due_at", "clock_paused_until", "group"],
                name="dead_letter_report",
                condition=models.Q(drained_at__isnull=False),
            ),
            models.Index(fields=["id"], name="dead_letter_no_group", condition=models.Q(group__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.job_type or self.job_id} ({self.tenant_slug or 'no tenant'}), attempt {self.attempt}"

    @property
    def is_undrained(self) -> bool:
        """Whether somebody still has to deal with it."""
        return self.state in UNDRAINED

    @property
    def is_overdue(self) -> bool:
        """Undrained although its drain SLA has passed."""
        return self.is_undrained and self.due_at <= timezone.now()
