"""What the classes of Django's admin have in common here: superusers only, and each change is in the audit."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest

from jobops.audit import recording

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

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_view_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_view_permission(request, obj)


class ReadOnly(SuperusersOnly):
    """Changes go through the services, which the admin would go around."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class Recorded(SuperusersOnly):
    """Adds a row to the audit for each thing that is made, changed or deleted, in the same transaction.

    Subclasses set ``kind`` and write ``facts_of``.
    """

    kind = ""

    def facts_of(self, obj: Any) -> Mapping[str, Any]:
        """What of the thing is worth a row when it changes: plain values, nothing secret, nothing private."""
        raise NotImplementedError

    def target_of(self, obj: Any) -> str:
        """What the thing is called in the audit."""
        return str(obj)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        form.facts_before = self.facts_of(self._stored(obj)) if change else {}
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        # Only now are groups and permissions there too.
        super().save_related(request, form, formsets, change)
        after = self.facts_of(self._stored(form.instance))
        self.record(request, "set" if change else "create", form.instance, form.facts_before, after)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with transaction.atomic():
            self.record(request, "delete", obj, self.facts_of(obj), {})
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        with transaction.atomic():
            for obj in queryset:
                self.delete_model(request, obj)

    def record(
        self, request: HttpRequest, verb: str, obj: Any, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> None:
        """Add the row, unless nothing changed."""
        was, now = recording.difference(before, after)
        if was or now:
            change = recording.Change(f"{self.kind}.{verb}", self.kind, self.target_of(obj), before=was, after=now)
            recording.record(request.user, change)

    def _stored(self, obj: Any) -> Any:
        return type(obj)._default_manager.get(pk=obj.pk)
