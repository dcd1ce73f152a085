"""What the templates are given of a replay, beside what they are given of any bulk action."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from dlq.models import BulkAction, DeadLetterGroup
from dlq.replay_plan import DEFAULTS
from jobops.web import replay_words as words
from jobops.web.bulk_words import ended_of, run_lede, tongue
from jobops.web.formats import duration, listed, number, plain
from jobops.web.replay_chart_words import eta_of, speed_figure, wait_figure
from jobops.web.replay_form import Asked
from jobops.web.replay_guard_words import guards, stop_of
from jobops.web.selectors.acting import may_act
from jobops.web.selectors.bulks import BulkPage
from jobops.web.selectors.replay_run import MOST_CAUSES, lanes

State = BulkAction.State
PAUSABLE = (words.Standing.SCHEDULED, words.Standing.CANARY, words.Standing.RUNNING)


def draft_of_replay(request: HttpRequest, found: BulkPage, asked: Asked) -> dict[str, Any]:
    """The options, as they were asked for, and what is said of them."""
    preview = found.preview
    assert preview is not None
    return {
        "group_url": group_url(found.choice.group),
        "failing_then": words.failing_then(
            preview.will_do, asked.plan, staff=found.staff, succeeded=found.lately.succeeded
        ),
        "asked": asked,
        "typed": asked.typed,
        "lanes": lanes(),
        "lowest": DEFAULTS.lane_name,
        "ahead": words.ahead_words(found.choice.ahead, len(preview.tenants.top)),
        "plan_url": reverse("bulk-plan", args=[found.bulk.pk]),
        "is_many": preview.will_do > 1,
        "begins": "start" if request.GET.get("begin") == "start" else "checkpoint",
        "spread_of_tenants": len(preview.tenants.top) + preview.tenants.others,
    }


def run_of_replay(request: HttpRequest, found: BulkPage) -> dict[str, Any]:
    """Where it stands, what guards it, how fast it is. Nothing for a discard or an undo."""
    bulk, at, replay, staff, now = found.bulk, found.progress, found.replay, found.staff, found.read_at
    assert at is not None
    if bulk.kind != BulkAction.Kind.REPLAY:
        return {}
    plan = replay.plan
    where = words.standing(bulk, plan, at, now)
    eta = eta_of(at.waiting, replay.starts, plan, now)
    name = tongue(bulk.kind, staff=staff).name
    name = f"{name} {bulk.pk}" if staff else name
    shown = {"title": words.replay_title(name, where, at, plan, ended_of(bulk, at), staff=staff)}
    if where in (words.Standing.OVER, words.Standing.CANCELLED):
        shown = {}
    shows_speed = staff and (any(replay.starts) or where in (words.Standing.CANARY, words.Standing.RUNNING))
    return shown | {
        "where": where.value,
        "is_paused": bulk.state == State.PAUSED,
        "may_pause": where in PAUSABLE,
        "cancel_word": "Cancel it" if where is words.Standing.SCHEDULED else "",
        "stop": stop_of(where, plan, at, staff=staff, who=_who_paused(request, found)),
        "lede": run_lede(bulk, at, staff=staff, eta=words.eta_words(eta, where)),
        "guards": guards(where, plan, at, staff=staff),
        "figures": _figures(found) if shows_speed else [],
        "how": words.how_it_runs(bulk, plan, DEFAULTS.lane_name, staff=staff) if plan else [],
        "plan": plan,
        "rate_typed": plain(plan.rate) if plan and plan.rate else "",
        "group": replay.group,
        "group_url": group_url(replay.group),
        "may_again": bool(may_act(request.user, bulk.kind)),
        "may_speed": staff and plan is not None and bulk.state in (State.RUNNING, State.PAUSED),
        "notes": _notes(found, eta, where),
    }


def group_url(group: DeadLetterGroup | None) -> str:
    """The page of a cause; empty without one."""
    return reverse("group", args=[group.pk]) if group is not None else ""


def _who_paused(request: HttpRequest, found: BulkPage) -> str:
    by = found.replay.plan.paused_by if found.replay.plan else ""
    return by if found.staff or by == request.user.get_username() else "Our team"


def _figures(found: BulkPage) -> list[Any]:
    replay, bulk = found.replay, found.bulk
    began = replay.plan.start_at if replay.plan and replay.plan.start_at else bulk.started_at
    figures = [speed_figure(replay.starts, replay.plan), wait_figure(replay.waits, lanes()[0], began, found.read_at)]
    return [figure for figure in figures if figure is not None and figure.chart is not None]


def _notes(found: BulkPage, eta: words.Eta | None, where: words.Standing) -> dict[str, str]:
    """What stands under the five numbers, where more is known than of any bulk action."""
    at, plan, staff = found.progress, found.replay.plan, found.staff
    assert at is not None
    whole = at.matched - at.skipped
    notes = {"ok": f"{at.succeeded / whole * 100:.3g}% of all {number(whole)}"} if at.succeeded and whole else {}
    if staff and plan is not None and plan.in_flight and not at.is_over:
        notes["run"] = f"at most {number(plan.in_flight)} at once"
    if at.waiting and where in words.STOPPED:
        notes["wait"] = "until it goes on"
    elif at.waiting and eta is not None and where is words.Standing.RUNNING:
        notes["wait"] = f"{duration(max(1.0, eta.seconds))} at this speed"
    if found.replay.died_of and not at.came_back:
        causes: Counter[str] = Counter()
        for reason, error, count in found.replay.died_of:
            causes[words.died_of(reason, error)] += count
        notes["dead"] = listed([f"{number(count)} {cause}" for cause, count in causes.most_common(MOST_CAUSES)])
    return notes
