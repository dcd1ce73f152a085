"""What holds for every request: its id, who is signed in, for how long, and in which zone they read times."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from structlog.contextvars import bound_contextvars

from jobops.audit import recording
from jobops.web.places import is_poll, sign_in_url

GetResponse = Callable[[HttpRequest], HttpResponse]
SEEN = "seen"
REQUEST_ID = "X-Request-ID"
_SANE_ID = re.compile(r"[\x21-\x7e]{1,64}", re.ASCII)

_zones = SimpleLazyObject(available_timezones)


class RequestId:
    """Gives each request an id, which the audit and the log carry and the answer tells.

    A proxy or a client may name one in ``X-Request-ID``: up to 64 visible ASCII characters. It proves nothing: who
    acted is in the row beside it.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        named = request.headers.get(REQUEST_ID, "")
        with (
            recording.request(named if _SANE_ID.fullmatch(named) else "") as chosen,
            bound_contextvars(request_id=chosen),
        ):
            response = self.get_response(request)
        response.headers[REQUEST_ID] = chosen
        return response


class SignInRequired(LoginRequiredMiddleware):
    """Every view needs a signed-in person unless it says ``login_not_required``: a new URL cannot be left open.

    A request of htmx never gets a redirect, which it would follow and draw as a fragment: it gets 401 and is told
    to send the whole page to sign-in.
    """

    def process_view(self, request: HttpRequest, view_func: Any, view_args: Any, view_kwargs: Any) -> Any:
        # Asked first: a health check must not read the session's store, which may be what is down.
        if not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> HttpResponse:  # type: ignore[override]
        target = sign_in_url(request)
        if request.headers.get("HX-Request"):
            return HttpResponse(status=401, headers={"HX-Redirect": target, "Cache-Control": "no-store"})
        return HttpResponse(status=302, headers={"Location": target, "Cache-Control": "no-store"})


class IdleClock:
    """Moves the end of a session ahead with every real request. A poll is none, so that idle sessions end.

    The session is written at most every 30 seconds, or ten times within a short limit.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view_func: Any, args: Any, kwargs: Any) -> None:
        # Pages for everybody (health checks among them) do not touch the session's store.
        if is_poll(request) or not getattr(view_func, "login_required", True):
            return
        now = time.time()
        stale = now - float(request.session.get(SEEN, 0)) >= min(30.0, settings.SESSION_COOKIE_AGE / 10)
        if stale and request.session.get(SESSION_KEY) is not None:
            request.session[SEEN] = now


class ViewerZone:
    """Writes times in the viewer's zone, which the cookie ``tz`` names; without one, in the server's."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        name = unquote(request.COOKIES.get("tz", ""))
        with timezone.override(ZoneInfo(name) if name in _zones else None):
            return self.get_response(request)


class NeverStored:
    """Keeps pages out of shared caches and of the browser's store: they show what only this person may see."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "no-store, private")
        return response
