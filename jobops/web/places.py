"""Where a person is and may be sent: the page behind a poll, and back after sign-in. Own-site paths only."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.urls import Resolver404, resolve, reverse
from django.utils.http import url_has_allowed_host_and_scheme

from dlq.models import BulkAction

LIVE = "/live/"
"""Fragments that pages poll live under this path, and nothing else does."""


def is_poll(request: HttpRequest) -> bool:
    """Whether a page asks by itself, and no person."""
    return request.path_info.startswith(LIVE)


def own_path(request: HttpRequest, url: str) -> str:
    """``url`` as a path of this site, or ``/``: for foreign hosts in whatever disguise, scripts, fragments and
    sign-in itself."""
    allowed = url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())
    if not allowed or "\\" in url or any(ord(letter) < 33 or ord(letter) == 127 for letter in url):
        return "/"
    parts = urlsplit(url)
    if not parts.path.startswith("/") or parts.path.startswith(("//", LIVE, reverse(settings.LOGIN_URL))):
        return "/"
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def page_of(request: HttpRequest) -> str:
    """The page the person sees: of a poll or a form the one it was sent from, else the one asked for."""
    if request.headers.get("HX-Request"):
        return own_path(request, request.headers.get("HX-Current-URL", "/"))
    if request.method not in ("GET", "HEAD"):
        return own_path(request, request.headers.get("Referer", "/"))
    return own_path(request, request.get_full_path())


def return_path(request: HttpRequest, otherwise: str) -> str:
    """Where an action leads back to: what the form says in ``next``, or the page that it was sent from; ``otherwise``
    where neither is a page of this site."""
    wanted = request.POST.get("next") or request.GET.get("next") or request.headers.get("Referer", "")
    path = own_path(request, wanted) if wanted else "/"
    return otherwise if path == "/" else path


def sign_in_url(request: HttpRequest) -> str:
    """The sign-in page that leads back to the page the person sees; it says so if a session has just ended."""
    query = {}
    page = page_of(request)
    if page != "/":
        query["next"] = page
    if settings.SESSION_COOKIE_NAME in request.COOKIES:
        query["ended"] = "1"
    url = reverse(settings.LOGIN_URL)
    return f"{url}?{urlencode(query)}" if query else url


def bulk_url(bulk: BulkAction) -> str:
    """The page of a bulk action."""
    return reverse("bulk" if bulk.kind == BulkAction.Kind.REPLAY else "bulk-discard", args=[bulk.pk])


def is_replay_page(path: str) -> bool:
    """Whether this path of the site, with or without a query, is the page of a replay."""
    try:
        return resolve(urlsplit(path).path).url_name == "bulk"
    except Resolver404:
        return False
