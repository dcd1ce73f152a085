"""The tables of the alerts."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from tenants.models import Team


class AlertRule(models.Model):
    """A threshold of one's own for a signal, where its scope fits; the narrowest rule that fits is in force.

    Every part of the scope is a glob; empty fits everything. Without any rule a signal has its default.
    """

    signal = models.CharField(max_length=50)
    tenant = models.CharField(max_length=100, blank=True)
    lane = models.CharField(max_length=50, blank=True)
    job_type = models.CharField(max_length=255, blank=True)
    team = models.CharField(max_length=100, blank=True)
    threshold = models.FloatField(null=True, blank=True, help_text="In the signal's unit; empty: its default.")
    for_s = models.PositiveIntegerField(null=True, blank=True, help_text="Seconds it must hold; empty: its default.")
    severity = models.CharField(max_length=10, blank=True)
    owner = models.CharField(max_length=100, blank=True, help_text="The team told; empty: the one it concerns.")
    enabled = models.BooleanField(default=True)
    by = models.CharField(max_length=150, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar = ["signal", "id"]

    def __str__(self) -> str:
        return f"{self.signal}: {self.threshold}"


class Alert(models.Model):
    """One episode: from the instant that a signal fires until it is calm for long enough. Told of once.

    ``key`` names the signal and what it is about; at most one episode of a key is open, whoever evaluates.
    """

    class State(models.TextChoices):
        FIRING = "firing", "Firing"
        ACKNOWLEDGED = "acknowledged", "Acknowledged"
        RESOLVED = "resolved", "Resolved"

    key = models.CharField(max_length=300)
    signal = models.CharField(max_length=50)
    # What it is about, for matchers and links: tenant, lane, job_type, team, group; whatever applies.
    scope = models.JSONField(default=dict)
    state = models.CharField(max_length=15, choices=State.choices, default=State.FIRING)
    severity = models.CharField(max_length=10, default="normal")
    owner = models.CharField(max_length=100)
    title = models.CharField(max_length=300, help_text="What is wrong, in one sentence.")
    detail = models.TextField(blank=True)
    path = models.CharField(max_length=300, blank=True, help_text="The page to open.")
    value = models.FloatField(default=0.0)
    threshold = models.FloatField(default=0.0)
    due_at = models.DateTimeField(null=True, blank=True)

    since = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now, help_text="When it was last evaluated.")
    calm_since = models.DateTimeField(null=True, blank=True, help_text="Below its lower threshold since; not over yet.")
    resolved_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=150, blank=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_until = models.DateTimeField(null=True, blank=True, help_text="Fires again then, if still wrong.")
    escalated_at = models.DateTimeField(null=True, blank=True)
    # Told to its team so often, the first time then (again after an acknowledgement that ran out); the next reminder
    # is due at `remind_at`.
    notices = models.PositiveIntegerField(default=0)
    told_at = models.DateTimeField(null=True, blank=True)
    remind_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-since", "-id"]
        constraints: ClassVar = [
            # What makes two evaluators tell of an episode once.
            models.UniqueConstraint(
                fields=["key"], name="alert_one_episode", condition=models.Q(resolved_at__isnull=True)
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["state", "-since", "-id"], name="alert_by_state"),
            models.Index(fields=["-resolved_at", "-id"], name="alert_by_end"),
            models.Index(fields=["key", "-id"], name="alert_by_key"),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.state}"


class Pending(models.Model):
    """Over its threshold, but not for long enough yet. Kept, so that a restart starts no clock anew."""

    key = models.CharField(max_length=300, primary_key=True)
    since = models.DateTimeField()
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.key} since {self.since}"


class RunTimeBaseline(models.Model):
    """How long the slowest hundredth of a job type's runs usually takes: what "twice as long" is measured against.

    Moves slowly, and not while the type is slow: a bad day must not become what is usual.
    """

    job_type = models.CharField(max_length=255, primary_key=True)
    p99_s = models.FloatField()
    samples = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.job_type}: {self.p99_s} s"


class Silence(models.Model):
    """Tells nobody of alerts that fit until it ends. Every part of the matcher is a glob; empty fits everything."""

    signal = models.CharField(max_length=50, blank=True)
    tenant = models.CharField(max_length=100, blank=True)
    lane = models.CharField(max_length=50, blank=True)
    job_type = models.CharField(max_length=255, blank=True)
    team = models.CharField(max_length=100, blank=True)
    group = models.BigIntegerField(null=True, blank=True)
    reason = models.CharField(max_length=500)
    by = models.CharField(max_length=150)
    starts_at = models.DateTimeField(default=timezone.now)
    ends_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["ends_at", "id"], name="silence_by_end")]

    def __str__(self) -> str:
        return f"until {self.ends_at}: {self.reason}"


class Channel(models.Model):
    """Where a team is told. ``target`` is secret: an address with a token in it is shown masked, everywhere."""

    class Kind(models.TextChoices):
        EMAIL = "email", "E-mail"
        SLACK = "slack", "Slack-compatible webhook"
        PAGERDUTY = "pagerduty", "PagerDuty Events v2"
        WEBHOOK = "webhook", "Signed JSON webhook"

    name = models.CharField(max_length=50, unique=True)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.CASCADE, related_name="channels")
    target = models.CharField(max_length=1000, help_text="Addresses, or the URL.")
    secret = models.CharField(max_length=200, blank=True, help_text="PagerDuty's routing key, or the signing key.")
    least_severity = models.CharField(max_length=10, default="low")
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return f"{self.name} ({self.kind})"


class Delivery(models.Model):
    """One message to one channel, and how it went. ``key`` makes it one, whoever writes it and however often."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        SENT = "sent", "Sent"
        GIVEN_UP = "given_up", "Given up"

    key = models.CharField(max_length=200, unique=True)
    alert = models.ForeignKey(Alert, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries")
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    event = models.CharField(max_length=15, help_text="fired, reminder, escalated, acknowledged, resolved, test")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    message = models.JSONField(default=dict)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(default=timezone.now)
    # Who is sending it has it until then: one that is killed meanwhile leaves it to the next.
    taken_until = models.DateTimeField(null=True, blank=True)
    answer = models.CharField(max_length=500, blank=True, help_text="What the other side said, secrets masked.")
    created_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["next_at", "id"], name="delivery_due", condition=models.Q(state="waiting")),
            models.Index(fields=["channel", "-id"], name="delivery_by_channel"),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.channel_id}: {self.state}"
