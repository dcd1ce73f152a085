"""What the templates of a bulk action are given."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from dlq.bulk import TICKED
from dlq.bulk_progress import Progress
from dlq.models import BulkAction
from jobops.web import bulk_words as words
from jobops.web import segments
from jobops.web.bulk_steps import steps
from jobops.web.charts import bar
from jobops.web.discard_reasons import reasons_shown
from jobops.web.formats import number
from jobops.web.happening_words import happenings
from jobops.web.lately_words import since_then
from jobops.web.pause_words import paused_of_many
from jobops.web.places import bulk_url, return_path
from jobops.web.replay_form import asked_for
from jobops.web.selectors.bulks import BulkPage
from jobops.web.selectors.letter_edit import led_members
from jobops.web.skip_words import skipped_rows
from jobops.web.views.replay_context import draft_of_replay, run_of_replay
from tenants.access import Allowed, can
from tenants.roles import Action

Kind = BulkAction.Kind
MOST_BARS = 120


def list_url(query: str = "") -> str:
    """The list that letters are chosen from."""
    return f"{reverse('dlq')}?{query}" if query else reverse("dlq")


def context_of(request: HttpRequest, found: BulkPage) -> dict[str, Any]:
    """For a draft the preview's, for any other the progress."""
    bulk, staff = found.bulk, found.staff
    by_filter = bulk.chosen != TICKED and bulk.undoes_id is None
    shared = {
        "page": found,
        "bulk": bulk,
        "staff": staff,
        "said": words.tongue(bulk.kind, staff=staff),
        "things": words.things(bulk.matched, staff=staff),
        "filter_url": list_url(bulk.chosen) if by_filter else "",
        "how_chosen": words.chosen_words(bulk.chosen, staff=staff) if by_filter else "",
        "as_of": found.read_at,
        "live_url": "",
        "paused": paused_of_many(found.paused, found.read_at, sent=not found.is_draft, staff=staff),
    }
    return shared | (_draft(request, found) if found.is_draft else _run(request, found))


def plan_context(request: HttpRequest, bulk: BulkAction, may: Allowed, *, staff: bool) -> dict[str, Any]:
    """For the part of the preview that follows the options. ``n`` and ``unchecked`` are what the preview has counted:
    to count anew at each key that is pressed would take a second of the database."""
    n, unchecked = (_count(request.GET.get(name, ""), bulk.matched) for name in ("n", "unchecked"))
    asked = asked_for(request.GET, staff=staff)
    return {
        "bulk": bulk,
        "staff": staff,
        "may": may,
        "asked": asked,
        "will_do": n,
        "said": words.tongue(bulk.kind, staff=staff),
        "steps": steps(bulk.kind, n, unchecked, asked.plan, timezone.now(), staff=staff),
        "button": words.button(bulk.kind, n, asked.plan, staff=staff),
        "back": return_path(request, list_url()),
    }


def _count(text: str, most: int) -> int:
    return min(int(text), most) if text.isascii() and text.isdigit() and len(text) < 10 else most


def _draft(request: HttpRequest, found: BulkPage) -> dict[str, Any]:
    bulk, preview, staff = found.bulk, found.preview, found.staff
    assert preview is not None
    most = max((share.will_do for share in preview.tenants.top), default=0)
    lately = found.lately
    jobs = len(preview.jobs.top) + preview.jobs.others
    asked = asked_for(request.GET, staff=staff)
    plan = asked.plan if bulk.kind == Kind.REPLAY else None
    of_cause = found.choice.group is not None
    shown = {
        "title": words.draft_title(bulk, preview, staff=staff),
        "button": words.button(bulk.kind, preview.will_do, plan, staff=staff),
        "lede": words.draft_lede(bulk, preview, staff=staff),
        "steps": steps(bulk.kind, preview.will_do, preview.unchecked, plan, found.read_at, staff=staff),
        "resumes": words.resumes(preview),
        "skipped": skipped_rows(preview.skipped, found.choice.elsewhere, staff=staff),
        "skipped_n": preview.chosen - preview.will_do,
        "jobs_n": jobs,
        "tenants_n": len(preview.tenants.top) + preview.tenants.others,
        "tenants": [
            (share, bar(share.will_do, most, f"{number(share.will_do)} of {number(share.chosen)}", width=MOST_BARS))
            for share in preview.tenants.top
        ],
        "failing": words.failing_note(
            lately.count,
            lately.more,
            lately.latest_at,
            found.read_at,
            staff=staff,
            of_cause=of_cause,
            succeeded=lately.succeeded,
        ),
        "since_then": since_then(lately, staff=staff),
        "reasons": reasons_shown() if bulk.kind == Kind.DISCARD else (),
        "is_discard": bulk.kind == Kind.DISCARD,
        "back": return_path(request, list_url()),
        "will_do": preview.will_do,
        "may": found.may,
        "redirected": led_members(bulk) if staff else (),
    }
    return shown | (draft_of_replay(request, found, asked) if bulk.kind == Kind.REPLAY else {})


def _run(request: HttpRequest, found: BulkPage) -> dict[str, Any]:
    bulk, at, staff = found.bulk, found.progress, found.staff
    assert at is not None
    replay, ended_at = run_of_replay(request, found), _all_ended_at(bulk, at)
    parts = words.parts(bulk, at, staff=staff, notes=replay.get("notes"))
    over = bulk.state in (BulkAction.State.FINISHED, BulkAction.State.CANCELLED)
    return {
        "title": words.run_title(bulk, at, staff=staff, open_again=found.replay.open_again),
        "lede": words.run_lede(bulk, at, staff=staff),
        "parts": parts,
        "legend": words.in_legend(parts),
        "segments": segments.segments(parts),
        "bar_label": segments.label(parts),
        "skipped": skipped_rows(at.skipped_for, (), staff=staff),
        "skipped_n": at.skipped,
        "died_more": max(0, at.died - len(found.died)),
        "is_running": bulk.state == BulkAction.State.RUNNING,
        "undoable": over and bulk.kind == Kind.DISCARD and at.done > 0,
        "undo_url": bulk_url(found.undone_by) if found.undone_by else "",
        "end_word": words.end_word(bulk, at),
        "all_ended_at": ended_at,
        "happened": happenings(
            bulk, at, found.happened, found.replay.plan, ended_at, request.user.get_username(), staff=staff
        ),
        "sees_audit": staff and bool(can(request.user, Action.SEE_AUDIT)),
        "live_url": "" if at.is_over else reverse("live-bulk", args=[bulk.pk]),
    } | replay


def _all_ended_at(bulk: BulkAction, at: Progress) -> datetime | None:
    """When the last replayed job ended, if all have; what was sent goes on after the action itself is over."""
    return at.last_ended_at if bulk.kind == Kind.REPLAY and at.is_over else None
