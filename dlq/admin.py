"""Dead letters in Django's admin: for superusers, to look at and nothing else."""

from django.contrib import admin

from dlq.models import DeadLetter
from tenants.admin_base import ReadOnly


@admin.register(DeadLetter)
class DeadLetterAdmin(ReadOnly):
    list_display = ("job_type", "tenant_slug", "state", "reason", "error_class", "owner", "due_at", "dead_at")
    list_filter = ("state", "reason")
    list_select_related = False
    search_fields = ("=job_id", "=tenant_slug", "=job_type")
    show_full_result_count = False
    # Arguments may be secret; the letter's own page masks them.
    exclude = ("payload", "payload_raw")
