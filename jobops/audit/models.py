"""The table of the audit. Rows are added, and never changed or deleted."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from django.db import models
from django.utils import timezone


class AppendOnly(Exception):
    """Somebody tried to change or delete what the audit holds."""


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    """Reads and adds; refuses the rest."""

    def update(self, **kwargs: Any) -> NoReturn:
        """Refused."""
        raise AppendOnly("rows of the audit are never changed")

    def delete(self) -> NoReturn:
        """Refused."""
        raise AppendOnly("rows of the audit are never deleted")

    def bulk_update(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        raise AppendOnly("rows of the audit are never changed")


class AuditEntry(models.Model):
    """One change. ``before`` and ``after``: the fields that changed, never a payload or anything secret."""

    class Kind(models.TextChoices):
        PERSON = "person", "A signed-in person"
        COMMAND = "command", "A command"
        SYSTEM = "system", "By itself"

    at = models.DateTimeField(default=timezone.now, editable=False)
    actor = models.CharField(max_length=150, editable=False)
    actor_kind = models.CharField(max_length=10, choices=Kind.choices, editable=False)
    user_id = models.BigIntegerField(null=True, editable=False, help_text="Of a person; it outlives the account.")
    action = models.CharField(max_length=60, editable=False, help_text="What was done: `letter.replay`.")
    target_kind = models.CharField(max_length=30, editable=False, help_text="`letter`, `tenant`, `job`, …")
    target_id = models.CharField(max_length=200, editable=False)
    # No key to the tenant: this layer lies under it, and the row outlives it.
    tenant_id = models.BigIntegerField(null=True, editable=False)
    tenant_slug = models.CharField(max_length=50, blank=True, editable=False)
    before = models.JSONField(default=dict, editable=False)
    after = models.JSONField(default=dict, editable=False)
    reason = models.CharField(max_length=500, blank=True, editable=False)
    request_id = models.CharField(max_length=64, blank=True, editable=False)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-id"]
        verbose_name_plural = "audit entries"
        indexes: ClassVar = [
            models.Index(fields=["target_kind", "target_id", "-id"], name="audit_by_target"),
            models.Index(fields=["tenant_id", "-id"], name="audit_by_tenant"),
            models.Index(fields=["actor", "-id"], name="audit_by_actor"),
            models.Index(fields=["action", "-id"], name="audit_by_action"),
            models.Index(fields=["request_id", "-id"], name="audit_by_request"),
            models.Index(fields=["at", "id"], name="audit_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.target_kind} {self.target_id}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Adds the row; raises ``AppendOnly`` for one that is there."""
        if not self._state.adding:
            raise AppendOnly("rows of the audit are never changed")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        raise AppendOnly("rows of the audit are never deleted")
