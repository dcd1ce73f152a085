"""For load balancers and process managers: plain text, no sign-in."""

from __future__ import annotations

import logging

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from jobops.alerts import watching
from jobops.runtime import get_engine

log = logging.getLogger(__name__)
PLAIN = "text/plain; charset=utf-8"


@login_not_required
@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """200 as long as this process answers; touches neither the database nor Redis."""
    return HttpResponse("alive\n", content_type=PLAIN)


@login_not_required
@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """200 when the database and Redis answer, else 503 and which of them does not.

    The reason goes to the log only: an error's text may name hosts and users.
    """
    has_database, has_redis = _database(), _redis()
    if has_database:
        # Where no scheduler runs, or Redis is away, nobody else would notice.
        watching.look(get_engine(), redis_away=not has_redis)
    faults = [name for name, answers in (("database", has_database), ("Redis server", has_redis)) if not answers]
    if faults:
        return HttpResponse(
            "".join(f"the {name} cannot be reached\n" for name in faults), status=503, content_type=PLAIN
        )
    return HttpResponse("ready\n", content_type=PLAIN)


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        log.warning("not ready: the database: %s", type(error).__name__)
        return False
    return True


def _redis() -> bool:
    try:
        get_engine().redis.ping()
    except RedisError as error:
        log.warning("not ready: Redis: %s", type(error).__name__)
        return False
    return True
