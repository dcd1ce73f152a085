"""What the templates of a bulk action are given."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from dlq.bulk import TICKED
from dlq.bulk_progress import Progress
from dlq.models import BulkAction
from jobops.audit.models import AuditEntry
from jobops.web import bulk_words as words
from jobops.web import segments
from jobops.web.bulk_steps import steps
from jobops.web.charts import bar
from jobops.web.discard_reasons import REASONS
from jobops.web.formats import number
from jobops.web.lately_words import since_then
from jobops.web.pause_words import paused_of_many
from jobops.web.places import return_path
from jobops.web.selectors.bulks import BulkPage
from tenants.access import can
from tenants.roles import Action

Kind = BulkAction.Kind
HAPPENED = {
    "bulk.confirm": ("started it", "player-play"),
    "bulk.cancel": ("stopped it", "player-stop"),
    "bulk.finish": ("", "check"),
}
MOST_BARS = 120


def bulk_url(bulk: BulkAction) -> str:
    """The page of a bulk action."""
    return reverse("bulk" if bulk.kind == Kind.REPLAY else "bulk-discard", args=[bulk.pk])


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


def _draft(request: HttpRequest, found: BulkPage) -> dict[str, Any]:
    bulk, preview, staff = found.bulk, found.preview, found.staff
    assert preview is not None
    most = max((share.will_do for share in preview.tenants.top), default=0)
    lately = found.lately
    jobs = len(preview.jobs.top) + preview.jobs.others
    return {
        "title": words.draft_title(bulk, preview, staff=staff),
        "button": words.do_it(bulk.kind, number(preview.will_do), staff=staff),
        "lede": words.draft_lede(bulk, preview, staff=staff),
        "steps": steps(bulk, preview, staff=staff),
        "resumes": words.resumes(preview),
        "skipped": words.skipped_lines(preview.skipped, staff=staff),
        "skipped_n": preview.chosen - preview.will_do,
        "jobs_n": jobs,
        "tenants_n": len(preview.tenants.top) + preview.tenants.others,
        "tenants": [
            (share, bar(share.will_do, most, f"{number(share.will_do)} of {number(share.chosen)}", width=MOST_BARS))
            for share in preview.tenants.top
        ],
        "failing": words.failing_note(lately.count, lately.more, lately.latest_at, found.read_at, staff=staff),
        "since_then": since_then(lately, staff=staff),
        "reasons": REASONS,
        "is_discard": bulk.kind == Kind.DISCARD,
        "back": return_path(request, list_url()),
    }


def _run(request: HttpRequest, found: BulkPage) -> dict[str, Any]:
    bulk, at, staff = found.bulk, found.progress, found.staff
    assert at is not None
    parts = words.parts(bulk, at, staff=staff)
    over = bulk.state in (BulkAction.State.FINISHED, BulkAction.State.CANCELLED)
    return {
        "title": words.run_title(bulk, at, staff=staff),
        "lede": words.run_lede(bulk, at, staff=staff),
        "parts": parts,
        "segments": segments.segments(parts),
        "bar_label": segments.label(parts),
        "skipped": words.skipped_lines(at.skipped_for, staff=staff),
        "skipped_n": at.skipped,
        "died_more": max(0, at.died - len(found.died)),
        "is_running": bulk.state == BulkAction.State.RUNNING,
        "undoable": over and bulk.kind == Kind.DISCARD and at.done > 0,
        "undo_url": bulk_url(found.undone_by) if found.undone_by else "",
        "end_word": words.end_word(bulk, at),
        "all_ended_at": _all_ended_at(bulk, at),
        "happened": _happenings(request, found, at),
        "sees_audit": staff and bool(can(request.user, Action.SEE_AUDIT)),
        "live_url": "" if at.is_over else reverse("live-bulk", args=[bulk.pk]),
    }


def _all_ended_at(bulk: BulkAction, at: Progress) -> datetime | None:
    """When the last replayed job ended, if all have; what was sent goes on after the action itself is over."""
    return at.last_ended_at if bulk.kind == Kind.REPLAY and at.is_over else None


def _happenings(request: HttpRequest, found: BulkPage, at: Progress) -> list[dict[str, Any]]:
    finished = words.finish_text(found.bulk, at)
    lines = [_happening(row, finished, request.user.get_username(), staff=found.staff) for row in found.happened]
    ended_at = _all_ended_at(found.bulk, at)
    if ended_at is None:
        return lines
    return [{"at": ended_at, "who": "", "text": "The last one ended", "icon": "circle-check", "quote": ""}, *lines]


def _happening(row: AuditEntry, finished: str, reader: str, *, staff: bool) -> dict[str, Any]:
    text, icon = HAPPENED.get(row.action, (row.action, "check"))
    by_itself = row.action == "bulk.finish"
    text = finished if by_itself else text
    who = "" if by_itself else row.actor if staff or row.actor == reader else "Our team"
    return {"at": row.at, "who": who, "text": text, "icon": icon, "quote": "" if by_itself else row.reason}
