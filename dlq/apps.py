"""Wiring of the dlq app."""

from django.apps import AppConfig


class DlqConfig(AppConfig):
    """Dead letters; an undrained one keeps its tenant from being deleted, and opens when its replay is cancelled."""

    name = "dlq"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dlq.locking import lock_all_of
        from dlq.owners.parting import let_go
        from dlq.selectors import undrained_count
        from dlq.watch import watch_soon
        from tenants.leftovers import hold_before_deletion, register_leftover, tell_cancelled
        from tenants.parting import before_people_go

        register_leftover("undrained dead letters", undrained_count)
        hold_before_deletion(lock_all_of)
        before_people_go(let_go)
        tell_cancelled(lambda job_ids: watch_soon(*job_ids))
