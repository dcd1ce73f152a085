"""What people do to one job: cancel it, stop it while it runs, start it before its time. By POST only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST
from redis.exceptions import RedisError

from jobops.engine.errors import EngineUnavailable
from jobops.runtime.job_actions import job_cancel, job_run_now, job_stop
from jobops.web.places import return_path
from jobops.web.selectors.job_buttons import ACTIONS, CANCEL, RUN_NOW, STOP
from jobops.web.selectors.jobs import acted_on
from jobops.web.selectors.letter_buttons import refusal
from jobops.web.views.live import away_is_said
from tenants.access import can

LONGEST_REASON = 500
DONE = {
    "cancelled": "The job was cancelled.",
    "stopping": "The job is being stopped; that takes a moment.",
    "queued": "The job was sent to its queue.",
    "outbox": "The job starts as soon as it is out of the outbox.",
}
NOT_DONE = {
    "started": "It has started already; what runs is stopped, not cancelled.",
    "ended": "It has ended already.",
    "not_found": "It is not there any more.",
    "not_running": "It does not run any more.",
    "not_scheduled": "It does not wait for a time any more.",
    "outbox": "It waits in the outbox and does not run: what waits is cancelled, not stopped.",
    "last_attempt": "This is its last attempt, after which it cannot run again: stop it without that.",
    "tenant_gone": "Its tenant was deleted, so it cannot run again: stop it without that.",
}


@require_POST
def cancel(request: HttpRequest, job_id: str) -> HttpResponse:
    """Ends a job that waits, before it runs (again)."""
    return _act(request, job_id, CANCEL, job_cancel)


@require_POST
def stop(request: HttpRequest, job_id: str) -> HttpResponse:
    """Kills what runs; with the box ticked it runs again."""
    return _act(request, job_id, STOP, job_stop, retry=request.POST.get("retry") == "1")


@require_POST
def run_now(request: HttpRequest, job_id: str) -> HttpResponse:
    """Lets a delayed job go to its queue now."""
    return _act(request, job_id, RUN_NOW, job_run_now)


@away_is_said
def _act(request: HttpRequest, job_id: str, name: str, act: Callable[..., str], **how: Any) -> HttpResponse:
    job, tenant = acted_on(request.user, job_id)
    allowed = can(request.user, ACTIONS[name], tenant)
    if not allowed:
        raise PermissionDenied(refusal(request.user, allowed))
    reason = request.POST.get("reason", "")[:LONGEST_REASON]
    try:
        answer = act(job_id=job.id, by=request.user, reason=reason, **how)
    except (RedisError, EngineUnavailable):  # its text may name hosts and passwords
        messages.error(request, "Nothing was changed: Redis cannot be reached.")
    else:
        if answer in DONE and (name, answer) != (STOP, "outbox"):
            messages.success(request, DONE[answer])
        else:
            messages.error(request, f"Nothing was changed. {NOT_DONE[answer]}")
    return redirect(return_path(request, reverse("job", args=[job.id])))
