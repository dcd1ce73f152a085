"""Tenants and memberships in Django's admin: to look at tenants and to hand out memberships."""

from typing import Any

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest

from tenants import people_admin  # noqa: F401  (it takes the place of Django's own classes)
from tenants.admin_base import ReadOnly, SuperusersOnly
from tenants.models import Membership, Tenant
from tenants.recorded import record_membership


@admin.register(Tenant)
class TenantAdmin(ReadOnly):
    list_display = ("slug", "name", "weight", "cap", "rate", "depth_limit", "paused", "intake_closed")
    list_filter = ("paused", "intake_closed")
    search_fields = ("slug", "name")


@admin.register(Membership)
class MembershipAdmin(SuperusersOnly):
    list_display = ("user", "tenant", "role")
    list_filter = ("role",)
    list_select_related = ("user", "tenant")
    search_fields = ("user__username", "tenant__slug")
    autocomplete_fields = ("user", "tenant")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        with transaction.atomic():
            before = Membership.objects.filter(pk=obj.pk).first() if change else None
            moved = before is not None and (before.user_id, before.tenant_id) != (obj.user_id, obj.tenant_id)
            super().save_model(request, obj, form, change)
            if before is not None and moved:
                record_membership(before, request.user, before.role, "")
            record_membership(obj, request.user, before.role if before and not moved else "", obj.role)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with transaction.atomic():
            record_membership(obj, request.user, obj.role, "")
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        with transaction.atomic():
            for membership in queryset:
                self.delete_model(request, membership)
