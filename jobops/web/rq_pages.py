"""RQ's own pages, under ``/rq/``: for superusers, read-only, over a bounded list of queues.

django-rq takes its queues and connections from the settings: ``RQ_QUEUES`` is a ``ShownQueues`` (see ``rq_queues``),
and each of its queues names the cache ``rq-pages``, whose connection only reads (see ``rq_view``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.cache.backends.dummy import DummyCache
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import Resolver404, URLPattern, path, resolve, reverse

from jobops.engine.client import connect_as
from jobops.web.rq_shown import shown_only
from jobops.web.rq_view import ViewedRedis
from tenants.access import can
from tenants.roles import Action

LOOKING = frozenset(
    "stats jobs queue_details finished_jobs failed_jobs scheduled_jobs started_jobs deferred_jobs job_detail "  # noqa: SIM905
    "result_detail workers worker_details scheduler_jobs cron_scheduler_detail cron_job_detail".split()
)
"""Those of django-rq's views that only show; what it may add is refused until somebody has read it."""


REFUSAL = "RQ's own pages are read-only here: use the pages and commands of jobops instead. Nothing was changed.\n"
PLAIN = "text/plain; charset=utf-8"


class ReadOnlyCache(DummyCache):
    """A Django cache that keeps nothing; django-rq finds the connection to use in its ``_client``."""

    @functools.cached_property
    def _client(self) -> ViewedRedis:
        return connect_as(ViewedRedis, settings.JOBOPS_REDIS_URL)


def rq_urls() -> tuple[list[URLPattern], str]:
    """django-rq's patterns under its own namespace, each behind ``look_only``."""
    from django_rq.urls import get_admin_urlpatterns

    patterns: list[URLPattern] = get_admin_urlpatterns(view_wrapper=look_only)
    # Its templates link to these two, which would ask for no session of ours.
    missing = [path("stats.json", not_here, name="home_json"), path("metrics", not_here, name="metrics")]
    return [*missing, *patterns], "django_rq"


def look_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Lets superusers look; what would act is refused, whoever asks and however."""
    acts = view.__name__ not in LOOKING

    @functools.wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        allowed = can(request.user, Action.SEE_RQ)
        if not allowed:
            raise PermissionDenied(allowed.reason)
        if acts or request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed([] if acts else ["GET", "HEAD"], REFUSAL, content_type=PLAIN)
        try:
            answer = view(request, *args, **kwargs)
        except (IndexError, AssertionError, ValueError) as error:  # a queue, worker or page that is not there
            raise Http404("No such thing in RQ.") from error
        if answer.get("Content-Type", "").startswith("text/html"):
            answer.content = shown_only(answer.content.decode(), leads_to_a_look)
        return answer

    return guarded


def leads_to_a_look(url: str) -> bool:
    """Whether a link of these pages leads somewhere: not to what would act, and not to what is not mounted."""
    path_only = url.partition("?")[0].partition("#")[0]
    try:
        name = resolve(path_only).func.__name__ if path_only else ""
    except Resolver404:
        return False
    return not path_only.startswith(reverse("django_rq:home")) or name in LOOKING


def not_here(request: HttpRequest) -> HttpResponse:
    """Answers 404: RQ's machine-readable pages are not mounted."""
    raise Http404("Not mounted.")
