"""Tenants and who belongs to them."""

from typing import ClassVar

from django.conf import settings
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models

from jobops.contracts.promises import OWNER
from jobops.engine.validation import SLUG_PATTERN

# Anchored: Django's validator searches.
WHOLE_SLUG = rf"\A{SLUG_PATTERN}\Z"
# As contracts name owners.
WHOLE_OWNER = rf"\A{OWNER.pattern}\Z"


class Tenant(models.Model):
    """A customer: its share of worker time, its limits, and whether it may run now.

    Change one through ``tenants.services`` only: the engine works from a copy of these numbers in Redis.
    """

    slug = models.CharField(max_length=50, unique=True, validators=[RegexValidator(WHOLE_SLUG)])
    name = models.CharField(max_length=200, blank=True)
    weight = models.FloatField(default=1.0, validators=[MinValueValidator(0.01)], help_text="Share of worker time.")
    cap = models.PositiveIntegerField(null=True, blank=True, default=10, help_text="Most jobs in flight; empty: any.")
    rate = models.CharField(max_length=40, blank=True, default="", db_default="", help_text="Most starts; empty: any.")
    lane_caps = models.JSONField(default=dict, blank=True, help_text="Most jobs in flight for each lane.")
    depth_limit = models.PositiveIntegerField(null=True, blank=True, help_text="Most jobs waiting; empty: any.")
    intake_closed = models.BooleanField(default=False, help_text="Enqueues are refused.")

    paused = models.BooleanField(default=False)
    # A name, not a key to a user: a pause from a command line has no user, and it outlives the account.
    paused_by = models.CharField(max_length=150, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    pause_reason = models.CharField(max_length=500, blank=True)
    paused_by_staff = models.BooleanField(default=False, help_text="Only staff may lift this pause.")

    may_pause = models.BooleanField(default=False, help_text="Its admins may pause and resume it.")
    may_replay = models.BooleanField(default=False, help_text="Its admins may replay and discard its dead letters.")

    # The engine's copy is stale while these two differ; a duty of the scheduler pushes it then.
    policy_version = models.PositiveBigIntegerField(default=1, editable=False)
    policy_pushed_version = models.PositiveBigIntegerField(default=0, editable=False)
    policy_pushed_at = models.DateTimeField(null=True, editable=False)

    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar = ["slug"]
        indexes: ClassVar = [
            models.Index(
                fields=["id"],
                name="tenant_policy_stale",
                condition=~models.Q(policy_pushed_version=models.F("policy_version")),
            )
        ]
        permissions: ClassVar = [
            ("see_payload", "Sees payloads unmasked (operators and on call)"),
            ("edit_payload", "Edits a payload before a replay (operators and on call)"),
        ]

    def __str__(self) -> str:
        return self.name or self.slug

    @property
    def policy_is_stale(self) -> bool:
        """Whether the engine may still work from older numbers than these."""
        return self.policy_version != self.policy_pushed_version


class Membership(models.Model):
    """A person's role in one tenant; one person may belong to several tenants."""

    class Role(models.TextChoices):
        ADMIN = "admin", "Tenant admin"
        VIEWER = "viewer", "Tenant viewer"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.VIEWER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "tenant"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant.slug}: {self.role}"


class Team(models.Model):
    """Who drains dead letters and gets alerts. Contracts, rules and letters name it; its channels are in the alerts.

    A name that a contract or a rule gives and no team has is still an owner: its alerts go to the default team.
    """

    name = models.CharField(max_length=50, unique=True, validators=[RegexValidator(WHOLE_OWNER)])
    about = models.CharField(max_length=200, blank=True, help_text="What it looks after, and where to find it.")
    escalates_to = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Told if it does not react.",
    )
    escalate_after_min = models.PositiveIntegerField(
        default=30, validators=[MinValueValidator(1)], help_text="Minutes without an acknowledgement before that."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name


class TeamMember(models.Model):
    """A person in a team."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="teams")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["team", "user"], name="team_member_once")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team.name}"
