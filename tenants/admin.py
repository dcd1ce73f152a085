"""Tenants and memberships in Django's admin: for superusers, to look at tenants and to hand out memberships."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest

from tenants.models import Membership, Tenant

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:  # generic to the type checker only
    ModelAdmin = admin.ModelAdmin


class SuperusersOnly(ModelAdmin):
    """Model permissions do not count here: roles are in ``tenants.roles``, and the admin knows nothing of them."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.is_active and request.user.is_superuser


class ReadOnly(SuperusersOnly):
    """Changes go through the services, which the admin would go around."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Tenant)
class TenantAdmin(ReadOnly):
    list_display = ("slug", "name", "weight", "cap", "depth_limit", "paused", "intake_closed")
    list_filter = ("paused", "intake_closed")
    search_fields = ("slug", "name")


@admin.register(Membership)
class MembershipAdmin(SuperusersOnly):
    list_display = ("user", "tenant", "role")
    list_filter = ("role",)
    list_select_related = ("user", "tenant")
    search_fields = ("user__username", "tenant__slug")
    autocomplete_fields = ("user", "tenant")
