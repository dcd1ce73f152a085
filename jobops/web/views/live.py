"""What pages that refresh themselves have in common."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from redis.exceptions import RedisError

from jobops.web.places import is_poll

log = logging.getLogger(__name__)
View = Callable[..., HttpResponse]


def live_url(path: str, request: HttpRequest) -> str:
    """Where the page's living part is read from; it keeps the page's query string."""
    query = request.GET.urlencode()
    return f"{path}?{query}" if query else path


def away_is_said(view: View) -> View:
    """Answers 503 in words when Redis cannot be reached: a poll keeps the numbers that are on the page.

    The error's text goes nowhere: it may name hosts and passwords.
    """

    @functools.wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except RedisError as error:
            log.warning("a page needs Redis, which is away: %s", type(error).__name__)
            if is_poll(request):
                return HttpResponse("Redis cannot be reached.\n", status=503, content_type="text/plain; charset=utf-8")
            return render(request, "redis_away.html", {"since": timezone.now()}, status=503)

    return guarded
