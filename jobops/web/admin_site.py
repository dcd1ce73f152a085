"""Django's admin, for superusers only: users, groups, grants and memberships are theirs alone to change."""

from __future__ import annotations

import functools
from typing import Any

from django.contrib.admin.sites import AdminSite
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest
from django.template.response import TemplateResponse

from jobops.audit import recording


class SuperusersSite(AdminSite):
    """Answers others 403, whatever permissions on models they have: roles are in ``tenants.roles``."""

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_superuser and request.user.is_staff)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        guarded = super().admin_view(view, cacheable)

        @functools.wraps(guarded)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if request.user.is_authenticated and not self.has_permission(request):
                raise PermissionDenied("Only superusers may see Django's admin.")
            return guarded(request, *args, **kwargs)

        return answer

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """A superuser changes their own password."""
        with transaction.atomic():
            response = super().password_change(request, extra_context)
            if request.method == "POST" and response.status_code == 302:
                name = request.user.get_username()
                done = recording.Change("user.password", "user", name, after={"password": "changed"})
                recording.record(request.user, done)
        return response
