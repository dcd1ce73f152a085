"""Sign in and sign out."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from jobops.web.places import own_path


class SignIn(LoginView):
    """The sign-in page. Afterwards the person is back on the page they came from, if it is one of ours."""

    template_name = "session/sign_in.html"
    redirect_authenticated_user = True

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        wanted = self.request.POST.get("next") or self.request.GET.get("next") or ""
        return own_path(self.request, wanted) if wanted else ""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        return context | {"ended": "ended" in self.request.GET, "idle_s": settings.SESSION_COOKIE_AGE}


class SignOut(LogoutView):
    """Ends the session; by POST only."""

    http_method_names = ["post", "options"]


def locked_out(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
    """The sign-in page for a name that was closed to this address after too many wrong passwords."""
    context = {"locked": True, "cooloff_s": float(settings.AXES_COOLOFF_TIME) * 3600, "next": ""}
    return render(request, "session/sign_in.html", context, status=429)
