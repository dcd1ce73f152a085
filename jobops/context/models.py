"""The outbox: jobs that are in the database and not yet (surely) in Redis."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class OutboxEntry(models.Model):
    """One job on its way to Redis, written in the transaction that asked for it. ``id`` is the job's own id.

    A row that reached its queue is deleted: from then on Redis has the job. Only the states after ``waiting``
    stay to be looked at.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting to be pushed"
        PARKED = "parked", "Parked until a person decides"
        COALESCED = "coalesced", "Taken into a live job with the same key"
        CANCELLED = "cancelled", "Cancelled before it was pushed"

    class Parked(models.TextChoices):
        REFUSED = "refused", "Refused again and again"
        OUTCOME_UNKNOWN = "outcome_unknown", "Pushed long ago, and nobody knows whether it arrived"

    id = models.CharField(primary_key=True, max_length=200)
    tenant = models.CharField(max_length=50)
    lane = models.CharField(max_length=50)
    job_type = models.CharField(max_length=500)
    data = models.BinaryField()
    max_attempts = models.PositiveIntegerField()
    timeout_ms = models.PositiveBigIntegerField()
    lease_ms = models.PositiveBigIntegerField()
    key = models.TextField(blank=True)
    correlation_id = models.TextField(blank=True)
    due_at_ms = models.BigIntegerField(default=0, help_text="Epoch milliseconds; 0: as soon as it is pushed.")
    front = models.BooleanField(default=False)
    result_ttl_s = models.PositiveIntegerField()
    replay_of = models.CharField(
        max_length=250,
        blank=True,
        default="",
        db_default="",  # a process of the release before writes rows without it
        help_text="The death (job:attempt) that it is a replay of.",
    )
    tenant_uid = models.CharField(
        max_length=100,
        blank=True,
        default="",
        db_default="",  # as above
        help_text="The tenant's lasting identity, as its slug may be given anew; empty: not known.",
    )
    # What a process of the release before does not write has a default in the database too.
    resource = models.CharField(max_length=60, blank=True, default="", db_default="")
    dedup_ms = models.PositiveBigIntegerField(default=0, db_default=0)
    on_full = models.CharField(max_length=12, default="refuse", db_default="refuse")
    keep = models.PositiveIntegerField(default=0, db_default=0)
    batch = models.CharField(max_length=64, blank=True, default="", db_default="")
    checkpoint = models.BinaryField(null=True, help_text="The JSON that the job resumes from.")

    state = models.CharField(max_length=20, choices=State.choices, default=State.WAITING)
    parked_as = models.CharField(max_length=20, choices=Parked.choices, blank=True)
    created_at = models.DateTimeField()
    # Committed before the push. Redis knows a pushed id for a day only: a row that is older than that and still
    # unconfirmed must not be pushed again, as it may have run.
    first_pushed_at = models.DateTimeField(null=True, blank=True)
    # A claim moves it on, so that one row is pushed by one process at a time.
    next_try_at = models.DateTimeField()
    claim_token = models.CharField(max_length=32, blank=True)
    attempts = models.PositiveIntegerField(default=0, help_text="Pushes that were refused.")
    last_error = models.TextField(blank=True)
    coalesced_into = models.CharField(max_length=200, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes: ClassVar = [
            # By tenant first: the relay asks which tenants have something due, and then for the first rows of each.
            models.Index(fields=["tenant", "next_try_at"], name="outbox_due", condition=models.Q(state="waiting")),
            models.Index(
                fields=["tenant", "created_at", "id"], name="outbox_order", condition=models.Q(state="waiting")
            ),
            models.Index(fields=["first_pushed_at"], name="outbox_unconfirmed", condition=models.Q(state="waiting")),
            models.Index(fields=["tenant", "created_at"], name="outbox_tenant"),
            models.Index(fields=["ended_at"], name="outbox_ended", condition=models.Q(ended_at__isnull=False)),
        ]
        verbose_name = "outbox entry"
        verbose_name_plural = "outbox entries"

    def __str__(self) -> str:
        return f"{self.id} ({self.job_type}, {self.state})"

    @property
    def queue(self) -> str:
        """The RQ queue it is meant for: ``<tenant>.<lane>``."""
        return f"{self.tenant}.{self.lane}"


class OutboxHold(models.Model):
    """A tenant whose jobs Redis refuses at present: the relay leaves all its rows alone until ``until``.

    One row for a tenant, however many rows of it wait in the outbox.
    """

    tenant = models.CharField(primary_key=True, max_length=50)
    until = models.DateTimeField()
    refusals = models.PositiveIntegerField(help_text="Tries in a row in which nothing was taken in.")
    reason = models.CharField(max_length=50, help_text="The class of the refusal.")
    since = models.DateTimeField()

    class Meta:
        verbose_name = "outbox hold"
        verbose_name_plural = "outbox holds"

    def __str__(self) -> str:
        return f"{self.tenant} until {self.until} ({self.reason})"


class OnceRecord(models.Model):
    """An effect that happens once though its job may run twice: who is at it, or what came of it.

    One row for a key of a tenant and job type. ``running``: somebody began, and until that lease ends nobody else does.
    ``done``: it happened, and ``result`` is what everybody gets from now on. After a known failure there is no row.
    """

    class State(models.TextChoices):
        RUNNING = "running", "Begun"
        DONE = "done", "Done"

    tenant = models.CharField(max_length=50)
    tenant_uid = models.CharField(max_length=100, blank=True, default="")
    job_type = models.CharField(max_length=200)
    key = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    job_id = models.CharField(max_length=200)
    attempt = models.PositiveIntegerField()
    # The lease's: whoever holds another token is not the one who began.
    token = models.CharField(max_length=64)
    result = models.TextField(blank=True, help_text="JSON.")
    began_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant_uid", "tenant", "job_type", "key"], name="once_record_once")
        ]
        indexes: ClassVar = [
            models.Index(fields=["job_id"], name="once_record_job"),
            models.Index(fields=["done_at", "id"], name="once_record_done", condition=models.Q(done_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.job_type} {self.key} of {self.tenant}: {self.state}"
