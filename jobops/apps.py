"""Wiring of the jobops app: the one place where the layers are plugged into each other."""

from django.apps import AppConfig


class JobopsConfig(AppConfig):
    """Outbox, scheduler, commands and pages; plugs the runtime in when Django is ready."""

    name = "jobops"
    label = "jobops"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Plugs the layers into each other and finds the job types; opens no connection."""
        from django.conf import settings

        from jobops import (
            checks,  # noqa: F401  (importing them registers them)
            runtime,
        )
        from jobops.alerts import checks as alert_checks  # noqa: F401
        from jobops.contracts.discovery import discover

        runtime.install()
        discover(settings.JOBOPS_JOB_MODULES)
