"""``manage.py replays``: list replays of many, show one, pause it, let it go on, cancel the rest, change its speed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from dlq.access import MAX_ID
from dlq.bulk import bulk_cancel
from dlq.bulk_progress import Progress, new_since, progress, progress_of
from dlq.errors import InvalidAction, WrongBulkState
from dlq.models import BulkAction, ReplayPlan
from dlq.replay_control import replay_pause, replay_resume, replay_set_speed
from dlq.replay_pace import rate_of
from dlq.replay_plan import parse_options, plan_of
from jobops.management.base import OperatorCommand, Refused, Usage, command_actor, iso, take_for_granted, whole
from jobops.web.replay_words import standing

MOST = 10_000
COLUMNS = (
    "id", "standing", "stopped_by", "matched", "waiting", "running", "succeeded", "died", "skipped", "by", "created_at",
)  # fmt: skip
DONE = {"pause": "is paused", "resume": "goes on", "cancel": "is cancelled", "speed": "has a new speed"}


class Command(OperatorCommand):
    """Exit codes: 0 done, 1 refused or failed, 2 wrong usage; one line on stderr says why."""

    help = "Lists replays of many dead letters, shows how one stands, pauses it, lets it go on, or cancels the rest."

    def add_arguments(self, parser: CommandParser) -> None:
        """Sub-commands of the command."""
        actions = parser.add_subparsers(dest="action", metavar="list|show|pause|resume|cancel|speed")
        shown = actions.add_parser("list", help="replays, the newest first")
        shown.add_argument("--state", choices=_states(), help="only in this state")
        shown.add_argument("--limit", type=whole(1, MOST), default=50, metavar="N", help="at most so many (default 50)")
        one = actions.add_parser("show", help="how one stands now, and what stopped it")
        stop = actions.add_parser("pause", help="send nothing more; what was sent runs on")
        stop.add_argument("--reason", default="", metavar="TEXT", help="why")
        go_on = actions.add_parser("resume", help="go on; after its canary failed, with a fresh one")
        cancel = actions.add_parser("cancel", help="leave the rest as it is, for good")
        speed = actions.add_parser("speed", help="how fast it goes from now on")
        speed.add_argument("--rate", metavar="N/s", help="starts in so much time; none: no limit")
        speed.add_argument("--in-flight", metavar="N", help="at most so many of its jobs at once; none: any number")
        for each in (one, stop, go_on, cancel, speed):
            each.add_argument("id", type=whole(1, MAX_ID), metavar="ID")
        for each in (shown, one, stop, go_on, cancel, speed):
            super().add_arguments(each)
        take_for_granted(parser, "list", shown)

    def run(self, options: dict[str, Any]) -> None:
        """Do the sub-command."""
        if options["action"] == "list":
            self._list(options)
        elif options["action"] == "show":
            self._show(options)
        else:
            self._act(options)

    def _list(self, options: dict[str, Any]) -> None:
        bulks = BulkAction.objects.filter(kind=BulkAction.Kind.REPLAY).exclude(state=BulkAction.State.DRAFT)
        if options["state"] is not None:
            bulks = bulks.filter(state=options["state"])
        found = list(bulks.select_related("plan").order_by("-pk")[: options["limit"]])
        at = progress_of(found)
        now = timezone.now()
        rows = [_row(bulk, getattr(bulk, "plan", None), at[bulk.pk], now) for bulk in found]
        if options["as_json"]:
            self.print_json(rows)
        else:
            self.print_table(COLUMNS, rows, "no such replays")

    def _show(self, options: dict[str, Any]) -> None:
        document = _details(_replay(options["id"]))
        if options["as_json"]:
            self.print_json(document)
            return
        for name, value in document.items():
            self.stdout.write(f"{name:<15} {'-' if value is None or value == '' else value}")

    def _act(self, options: dict[str, Any]) -> None:
        bulk_id, by, action = _replay(options["id"]).pk, command_actor(), options["action"]
        try:
            match action:
                case "pause":
                    bulk = replay_pause(bulk_id=bulk_id, by=by, why=options["reason"])
                case "resume":
                    bulk = replay_resume(bulk_id=bulk_id, by=by)
                case "cancel":
                    bulk = bulk_cancel(bulk_id=bulk_id, by=by)
                case _:
                    bulk = replay_set_speed(bulk_id=bulk_id, by=by, **_speed(bulk_id, options))
        except WrongBulkState as error:
            raise Refused(f"replay {bulk_id}: {error.why}") from error
        except InvalidAction as error:
            raise Usage(f"--{error.field.replace('_', '-')}: {error.problem}") from error
        if options["as_json"]:
            self.print_json({"id": bulk.pk, "state": str(bulk.state)})
        else:
            self.stdout.write(f"replay {bulk.pk} {DONE[action]}")


def _states() -> list[str]:
    return [state for state in BulkAction.State.values if state != BulkAction.State.DRAFT]


def _replay(bulk_id: int) -> BulkAction:
    bulk = BulkAction.objects.filter(pk=bulk_id, kind=BulkAction.Kind.REPLAY).first()
    if bulk is None or bulk.state == BulkAction.State.DRAFT:
        raise Refused(f"replay {bulk_id}: there is none of this number; see `manage.py replays list`")
    return bulk


def _speed(bulk_id: int, options: dict[str, Any]) -> dict[str, Any]:
    """The speed that is asked for; what is not given stays as it is."""
    given = {name: options[name] for name in ("rate", "in_flight") if options[name] is not None}
    if not given:
        raise Usage("replays speed: say --rate, --in-flight, or both")
    asked, faults = parse_options(given)
    for name, problem in faults.items():
        raise Usage(f"--{name.replace('_', '-')}: {problem}")
    plan = ReplayPlan.objects.filter(pk=bulk_id).first()
    return {name: getattr(asked if name in given else plan, name, None) for name in ("rate", "in_flight")}


def _row(bulk: BulkAction, plan: ReplayPlan | None, at: Progress, now: datetime) -> dict[str, Any]:
    stopped = bulk.state == BulkAction.State.PAUSED and plan is not None
    return {
        "id": bulk.pk,
        # What is sent, and where all of it is: the last jobs run on after all were sent, as its page says too.
        "state": str(bulk.state),
        "standing": str(standing(bulk, plan, at, now)),
        "stopped_by": (plan.paused_by or None) if stopped and plan is not None else None,
        "phase": str(plan.phase) if plan is not None else None,
        "matched": at.matched,
        "waiting": at.waiting,
        "running": at.running,
        "succeeded": at.succeeded,
        "died": at.died,
        "came_back": at.came_back,
        "skipped": at.skipped,
        "by": bulk.by,
        "created_at": iso(bulk.created_at),
    }


def _details(bulk: BulkAction) -> dict[str, Any]:
    plan, at = plan_of(bulk), progress(bulk)
    document = _row(bulk, plan, at, timezone.now()) | {
        "started_at": iso(bulk.started_at),
        "ended_at": iso(bulk.ended_at),
    }
    document |= {"skipped_for": bulk.skipped_for, "new_since": new_since(bulk)}
    if plan is None:
        return document
    document["why"] = plan.paused_why or None
    document |= {"rate": rate_of(bulk, plan), "in_flight": plan.in_flight, "lane": plan.lane or None}
    document |= {"start_at": iso(plan.start_at), "canary_passed_at": iso(plan.canary_passed_at)}
    if at.canary is not None:
        document |= {"canary": at.canary.total, "canary_succeeded": at.canary.succeeded}
        document |= {"canary_failed": at.canary.failed}
    if at.breaker is not None:
        document |= {"breaker_failed": at.breaker.failed, "breaker_of": at.breaker.ended}
    return document
