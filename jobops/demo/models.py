"""What the demo's shops sell: rows to export, to tell customers about, and to add up."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """An order of one shop. ``shop`` is the tenant's slug."""

    shop = models.CharField(max_length=50)
    number = models.PositiveIntegerField()
    placed_on = models.DateField()
    customer = models.CharField(max_length=100)
    email = models.EmailField()
    country = models.CharField(max_length=2)
    vat_id = models.CharField(max_length=20, blank=True)
    currency = models.CharField(max_length=3)
    items = models.PositiveSmallIntegerField()
    total = models.DecimalField(max_digits=10, decimal_places=2)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["shop", "number"], name="demo_order_number")]
        indexes = [models.Index(fields=["shop", "placed_on"], name="demo_order_day")]

    def __str__(self) -> str:
        return f"{self.shop} {self.number}"


class Statement(models.Model):
    """What one shop turned over in one month, in euros."""

    shop = models.CharField(max_length=50)
    month = models.DateField()
    orders = models.PositiveIntegerField()
    total_eur = models.DecimalField(max_digits=12, decimal_places=2)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["shop", "month"], name="demo_statement_month")]

    def __str__(self) -> str:
        return f"{self.shop} {self.month:%Y-%m}"
