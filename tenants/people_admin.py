"""Accounts, groups and failed sign-ins in Django's admin, in the place of the classes that Django and axes bring."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from axes.admin import AccessAttemptAdmin, AccessFailureLogAdmin, AccessLogAdmin
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from django.contrib.auth import admin as auth_admin
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters

from tenants.admin_base import ReadOnly, Recorded
from tenants.parting import people_go
from tenants.recorded import record_membership

if TYPE_CHECKING:
    DjangosUserAdmin = auth_admin.UserAdmin[User]
else:  # generic to the type checker only
    DjangosUserAdmin = auth_admin.UserAdmin

MOST_NAMES = 200


class UserAdmin(Recorded, DjangosUserAdmin):
    """What an account may do is in the audit; of its password and of who it is, only that they changed."""

    kind = "user"

    def target_of(self, obj: Any) -> str:
        return str(obj.get_username())

    def facts_of(self, obj: Any) -> Mapping[str, Any]:
        return {
            "username": obj.username,
            "is_active": obj.is_active,
            "is_staff": obj.is_staff,
            "is_superuser": obj.is_superuser,
            "groups": sorted(obj.groups.values_list("name", flat=True)),
            "grants": _names(obj.user_permissions.all()),
        }

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        profile = sorted({"first_name", "last_name", "email"} & set(form.changed_data))
        if change and profile:
            self.record(request, "profile", obj, {}, {"changed": profile})

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with transaction.atomic():
            people_go([obj.pk])
            for membership in obj.memberships.select_related("user", "tenant"):
                record_membership(membership, request.user, membership.role, "")
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        with transaction.atomic():
            # Of all of them before the first goes: what is taken one person after the other is taken in no order.
            people_go(list(queryset.values_list("pk", flat=True)))
            super().delete_queryset(request, queryset)

    @method_decorator(sensitive_post_parameters())
    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002 - Django calls it so
        with transaction.atomic():
            before = User.objects.filter(pk=id).values_list("password", flat=True).first() if id.isdigit() else None
            response = super().user_change_password(request, id, form_url)
            user = User.objects.filter(pk=id).first() if before is not None else None
            if user is not None and user.password != before:
                self.record(request, "password", user, {}, {"password": "changed"})
        return response


class GroupAdmin(Recorded, auth_admin.GroupAdmin):
    """A group is a staff role if it has one's name, and whatever grants it carries."""

    kind = "group"

    def facts_of(self, obj: Any) -> Mapping[str, Any]:
        return {
            "name": obj.name,
            "grants": _names(obj.permissions.all()),
            "members": sorted(obj.user_set.values_list("username", flat=True)[:MOST_NAMES]),
        }


class AttemptAdmin(Recorded, AccessAttemptAdmin):
    """Deleting an attempt lets its name sign in again at once."""

    kind = "lockout"
    actions = ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def target_of(self, obj: Any) -> str:
        return str(obj.username or "")

    def facts_of(self, obj: Any) -> Mapping[str, Any]:
        return {"failures": obj.failures_since_start}


class SignInAdmin(ReadOnly, AccessLogAdmin):
    """Who signed in, and when."""


class FailureAdmin(ReadOnly, AccessFailureLogAdmin):
    """Who failed to."""


def _names(permissions: QuerySet[Permission]) -> list[str]:
    return sorted(f"{app}.{code}" for app, code in permissions.values_list("content_type__app_label", "codename"))


for model, ours in {
    User: UserAdmin,
    Group: GroupAdmin,
    AccessAttempt: AttemptAdmin,
    AccessLog: SignInAdmin,
    AccessFailureLog: FailureAdmin,
}.items():
    admin.site.unregister(model)
    admin.site.register(model, ours)
