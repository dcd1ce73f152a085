"""How a replay of many runs: what a person chose, where it stands, and what stopped it."""

from typing import ClassVar

from django.db import models

from dlq.models.bulk import BulkAction


class ReplayPlan(models.Model):
    """Beside a bulk action whose kind is replay. While its phase is ``canary`` only its canary members run; ``rest``
    begins by itself when they all ended well.

    ``rate``: starts a second; empty: as fast as it goes. ``in_flight``: most of its jobs at once; empty: any number.
    """

    class Phase(models.TextChoices):
        CANARY = "canary", "Canary"
        REST = "rest", "The rest"

    bulk = models.OneToOneField(BulkAction, primary_key=True, on_delete=models.CASCADE, related_name="plan")
    rate = models.FloatField(null=True, blank=True, default=20.0)
    in_flight = models.PositiveIntegerField(null=True, blank=True, default=None)
    lane = models.CharField(max_length=50, blank=True, help_text="Empty: the one that each letter died in.")
    spread_s = models.PositiveIntegerField(null=True, blank=True, help_text="Spread over so long; instead of a rate.")
    start_at = models.DateTimeField(null=True, blank=True)
    canary = models.PositiveIntegerField(default=5, help_text="How many run first; 0: no canary.")
    canary_failures = models.PositiveIntegerField(default=0, help_text="More of them that fail stop it.")
    breaker_window = models.PositiveIntegerField(default=100, help_text="Of so many newest ends…")
    breaker_percent = models.FloatField(default=5.0, help_text="…more than this share that fail stop it.")
    in_order = models.BooleanField(default=True, help_text="One after the other where they have a key in common.")

    phase = models.CharField(max_length=10, choices=Phase.choices, default=Phase.CANARY)
    canary_passed_at = models.DateTimeField(null=True, blank=True)
    newest_letter = models.BigIntegerField(default=0, help_text="The newest letter when its members were fixed.")
    group = models.ForeignKey(
        "dlq.DeadLetterGroup", null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )

    paused_at = models.DateTimeField(null=True, blank=True)
    paused_by = models.CharField(max_length=150, blank=True, help_text="A person, `canary` or `breaker`.")
    paused_why = models.CharField(max_length=500, blank=True)
    # Ends before this run do not count for the breaker: set when a person lets it go on.
    judged_from = models.DateTimeField(null=True, blank=True)

    # The limiter: how many may be sent at `credit_at`.
    credit = models.FloatField(default=0.0)
    credit_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-bulk"]

    def __str__(self) -> str:
        return f"plan of replay {self.bulk_id}: {self.phase}"
