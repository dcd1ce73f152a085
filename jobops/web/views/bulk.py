"""Bulk actions, ``/dlq/replays/<id>/`` and ``/dlq/discards/<id>/``: choosing letters makes a draft, which shows what it
would do; confirming lets it run; its page follows it to the end."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from dlq.access import get_bulk
from dlq.bulk import bulk_cancel, bulk_confirm, bulk_draft, bulk_undo
from dlq.bulk_progress import progress
from dlq.bulk_run import run_batch
from dlq.errors import InvalidAction, LetterError, WrongBulkState
from dlq.models import BulkAction
from jobops.web import bulk_words as words
from jobops.web.discard_reasons import reason_of
from jobops.web.places import bulk_url, is_replay_page, return_path
from jobops.web.replay_form import asked_for, query_of
from jobops.web.selectors.acting import may_act
from jobops.web.selectors.bulks import bulk_page, may_run, may_undo
from jobops.web.selectors.choosing import chosen_letters
from jobops.web.views.bulk_context import context_of, list_url
from jobops.web.views.letter_actions import FROM_START
from tenants.access import Allowed, sees_all

AT_ONCE = 50
"""A page of ticks is dealt with in the request itself; more than that in the background."""


@require_safe
def page(request: HttpRequest, bulk_id: int) -> HttpResponse:
    """The preview of a draft, or how far it is."""
    return render(request, "bulk/page.html", _context(request, bulk_id))


@require_safe
def fragment(request: HttpRequest, bulk_id: int) -> HttpResponse:
    """The part that changes while it runs."""
    return render(request, "bulk/fragment.html", _context(request, bulk_id))


@require_POST
def start(request: HttpRequest) -> HttpResponse:
    """Fixes which letters are meant, and shows what would happen to them."""
    kind = request.POST.get("kind", "")
    if kind not in BulkAction.Kind.values:
        raise Http404("No such action.")
    may = may_act(request.user, kind)
    if not may:
        raise PermissionDenied(may.reason)
    here = return_path(request, list_url())
    try:
        chosen = chosen_letters(request.user, request.POST)
        bulk = bulk_draft(
            kind=kind, letters=chosen.letters, by=request.user, chosen=chosen.how, only_tenants=may.only_tenants
        )
    except InvalidAction as error:
        messages.error(request, f"Nothing was changed: {error.problem}.")
        return redirect(here)
    gone = max(0, chosen.ticked - bulk.matched)
    if gone:
        messages.warning(
            request, f"{gone:,} of the {chosen.ticked:,} ticked {'is' if gone == 1 else 'are'} not there any more."
        )
    return redirect(f"{bulk_url(bulk)}?{urlencode({'next': here})}")


@require_POST
def confirm(request: HttpRequest, bulk_id: int) -> HttpResponse:
    """Lets a draft run; or only shows what would happen, as its options are now."""
    bulk = get_bulk(request.user, bulk_id)
    require(may_run(request.user, bulk))
    asked = asked_for(request.POST, staff=sees_all(request.user))
    if asked.faults or request.POST.get("show"):
        # Which are wrong and why is said beside them.
        if asked.faults:
            messages.error(request, "Nothing was changed: put the options right first.")
        return redirect(_again(request, bulk))
    try:
        bulk = bulk_confirm(
            bulk_id=bulk.pk,
            by=request.user,
            reason=reason_of(request.POST),
            from_start=request.POST.get("begin") == FROM_START,
            plan=asked.plan if bulk.kind == BulkAction.Kind.REPLAY else None,
        )
    except LetterError as error:
        return refused(request, error, _again(request, bulk))
    return _run(request, bulk)


@require_POST
def cancel(request: HttpRequest, bulk_id: int) -> HttpResponse:
    """Stops it: what is done stays done. A draft is thrown away."""
    bulk = get_bulk(request.user, bulk_id)
    require(may_run(request.user, bulk))
    was_draft = bulk.state == BulkAction.State.DRAFT
    try:
        bulk = bulk_cancel(bulk_id=bulk.pk, by=request.user)
    except LetterError as error:
        return refused(request, error, bulk_url(bulk))
    left = bulk.matched - bulk.done - bulk.skipped
    stay = "1 stays as it is" if left == 1 else f"{left:,} stay as they are"
    messages.success(request, "Nothing was changed." if was_draft else f"Cancelled; {stay}.")
    return redirect(return_path(request, list_url()) if was_draft else bulk_url(bulk))


@require_POST
def undo(request: HttpRequest, bulk_id: int) -> HttpResponse:
    """Opens again what this discard has closed."""
    bulk = get_bulk(request.user, bulk_id)
    require(may_undo(request.user, bulk))
    try:
        undoing = bulk_undo(bulk_id=bulk.pk, by=request.user)
    except LetterError as error:
        return refused(request, error, return_path(request, bulk_url(bulk)))
    return _run(request, undoing)


def _run(request: HttpRequest, bulk: BulkAction) -> HttpResponse:
    """A few are done at once, and the person is back where they were; otherwise its page shows how it goes on."""
    if bulk.matched <= AT_ONCE:
        run_batch(bulk.pk)
        bulk.refresh_from_db()
    back = return_path(request, list_url())
    # Whoever comes from another replay's page would take what it says for what became of this one.
    from_another = bulk.kind == BulkAction.Kind.REPLAY and is_replay_page(back)
    if bulk.state != BulkAction.State.FINISHED or from_another:
        return redirect(bulk_url(bulk))
    text = words.done_text(bulk, progress(bulk), staff=sees_all(request.user))
    # An undo is over when it is told of: nothing of it goes on.
    verb = {BulkAction.Kind.DISCARD: "undo", BulkAction.Kind.REPLAY: "see"}.get(BulkAction.Kind(bulk.kind), "")
    tell = messages.success if bulk.done else messages.warning
    tell(request, text, extra_tags=f"{verb}:bulk:{bulk.pk}" if bulk.done and verb else "")
    return redirect(back)


def require(allowed: Allowed) -> None:
    """Raises ``PermissionDenied`` with the reason."""
    if not allowed:
        raise PermissionDenied(allowed.reason)


def refused(request: HttpRequest, error: LetterError, where: str) -> HttpResponse:
    """Says why nothing was changed, there."""
    why = {InvalidAction: "problem", WrongBulkState: "why"}.get(type(error), "")
    messages.error(request, f"Nothing was changed: {getattr(error, why, error)}.")
    return redirect(where)


def _again(request: HttpRequest, bulk: BulkAction) -> str:
    """The preview once more, as it was filled in, which still knows where to go back to."""
    typed = query_of(request.POST) if bulk.kind == BulkAction.Kind.REPLAY else ""
    return f"{bulk_url(bulk)}?{urlencode({'next': return_path(request, list_url())})}{typed and '&' + typed}"


def _context(request: HttpRequest, bulk_id: int) -> dict[str, Any]:
    return context_of(request, bulk_page(request.user, bulk_id))
