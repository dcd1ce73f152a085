"""Wiring of the dlq app."""

from django.apps import AppConfig


class DlqConfig(AppConfig):
    """Dead letters; an undrained one keeps its tenant from being deleted."""

    name = "dlq"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dlq.selectors import undrained_count
        from tenants.leftovers import register_leftover

        register_leftover("undrained dead letters", undrained_count)
