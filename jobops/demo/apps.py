"""The demo as a Django app: its tables, and its jobs, found as any app's `jobs.py` is."""

from __future__ import annotations

from django.apps import AppConfig


class DemoConfig(AppConfig):
    """Installed only where ``JOBOPS_DEMO`` is set."""

    name = "jobops.demo"
    label = "demo"
    verbose_name = "demo shops"
    default_auto_field = "django.db.models.BigAutoField"
