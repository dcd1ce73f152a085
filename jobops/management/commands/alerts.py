"""``manage.py alerts``: what fires, who has it, what is silenced, and the thresholds."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from jobops.alerts import acting
from jobops.alerts.errors import AlertError, InvalidAlertAction
from jobops.alerts.evaluating import look
from jobops.alerts.matching import PARTS
from jobops.alerts.models import Alert, AlertRule, Pending, Silence
from jobops.alerts.reading import open_alerts
from jobops.alerts.silencing import in_force
from jobops.alerts.urgency import SEVERITIES
from jobops.management import alert_rows as rows
from jobops.management.base import Found, OperatorCommand, Refused, Usage, command_actor, take_for_granted
from jobops.management.option_types import duration, number
from jobops.runtime import get_engine

MOST_LISTED = 1000
OPTIONS = {"job_type": "--job", "for_s": "--for", "minutes": "--for", "ends_at": "--for", "owner": "--tell"}
"""Where a field was typed that is not an option of its own name."""
ARGUMENTS = {("set", "signal"): "SIGNAL"}
"""Fields that a sub-command takes without an option."""


class Command(OperatorCommand):
    """Exit codes: 0 done, 1 refused, failed or (check) found something, 2 wrong usage."""

    help = "Lists alerts, acknowledges and silences them, and changes the thresholds at which they fire."

    def add_arguments(self, parser: CommandParser) -> None:
        """One sub-command for each thing that can be done."""
        words = "list|show|ack|silence|silences|unsilence|rules|set|reset|check"
        actions = parser.add_subparsers(dest="action", metavar=words)
        listing = actions.add_parser("list", help="open alerts: the most severe first, then what is due first")
        listing.add_argument("--all", action="store_true", help=f"resolved ones too, the newest {MOST_LISTED:,}")
        listing.add_argument("--owner", metavar="TEAM", help="only this team's")
        one = actions.add_parser("show", help="one alert with the messages about it")
        ack = actions.add_parser("ack", help="somebody has it: no reminders and no escalation for a while")
        for each in (one, ack):
            each.add_argument("id", type=number, metavar="NUMBER", help="as `alerts list` shows it")
        ack.add_argument("--for", dest="lasts", type=duration, default="1h", metavar="TIME", help="default 1h")
        silence = actions.add_parser("silence", help="tell nobody of alerts that fit")
        silence.add_argument("--signal", metavar="NAME", help="a signal, or a pattern such as sla_*")
        silence.add_argument("--group", type=number, metavar="NUMBER", help="a cause")
        silence.add_argument("--for", dest="lasts", type=duration, required=True, metavar="TIME", help="such as 2h")
        silence.add_argument("--reason", required=True, metavar="TEXT", help="for those who miss an alert")
        silences = actions.add_parser("silences", help="the silences in force")
        silences.add_argument("--all", action="store_true", help=f"ended ones too, the newest {MOST_LISTED:,}")
        end = actions.add_parser("unsilence", help="end a silence")
        end.add_argument("id", type=number, metavar="NUMBER", help="as `alerts silences` shows it")
        rules = actions.add_parser("rules", help="alert thresholds: each signal's, and those of one's own in its place")
        change = actions.add_parser("set", help="a threshold of one's own; what is not given stays")
        change.add_argument("signal", metavar="SIGNAL", help="as `alerts rules` shows it")
        change.add_argument("--threshold", type=_float, metavar="N|default", help="in the signal's unit")
        change.add_argument("--for", dest="lasts", type=_held, metavar="TIME|default", help="it must hold for so long")
        change.add_argument("--severity", choices=(*SEVERITIES, "default"))
        change.add_argument("--tell", metavar="TEAM|default", help="who is told instead of whom it concerns")
        switch = change.add_mutually_exclusive_group()
        switch.add_argument("--off", dest="enabled", action="store_false", default=None, help="never fire")
        switch.add_argument("--on", dest="enabled", action="store_true", default=None, help="fire again")
        reset = actions.add_parser("reset", help="take a threshold of one's own back")
        reset.add_argument("id", type=number, metavar="NUMBER", help="as `alerts rules` shows it")
        check = actions.add_parser("check", help="look now, and print what is over its threshold; changes no alert")
        for each in (silence, change):
            _add_scope(each)
        for each in (listing, one, ack, silence, silences, end, rules, change, reset, check):
            super().add_arguments(each)
        take_for_granted(parser, "list", listing)

    def run(self, options: dict[str, Any]) -> None:
        """Do what the sub-command says."""
        action = options["action"]
        with _refusals(action):
            getattr(self, f"do_{action}")(options)

    def do_list(self, options: dict[str, Any]) -> None:
        """Open alerts, or the newest of all."""
        chosen = Alert.objects.order_by("-pk") if options["all"] else open_alerts()
        if options["owner"]:
            chosen = chosen.filter(owner=options["owner"])
        self._print(options, rows.ALERTS, rows.alert_rows(list(chosen[:MOST_LISTED])), "nothing fires")

    def do_show(self, options: dict[str, Any]) -> None:
        """One alert."""
        alert = Alert.objects.filter(pk=options["id"]).first()
        if alert is None:
            raise Refused(f"there is no alert {options['id']}; `manage.py alerts list --all` shows those there are")
        shown = rows.alert_details(alert)
        if options["as_json"]:
            self.print_json(shown)
            return
        told = shown.pop("deliveries")
        for line in rows.detail_lines(shown):
            self.stdout.write(line)
        columns = ("created_at", "event", "channel", "state", "attempts", "answer")
        self.print_table(columns, told, "nobody was told of it")

    def do_ack(self, options: dict[str, Any]) -> None:
        """Acknowledge one."""
        minutes = max(1, round(options["lasts"].total_seconds() / 60))
        alert = acting.alert_acknowledge(alert_id=options["id"], by=command_actor(), minutes=minutes)
        self._print_one(options, rows.alert_rows([alert])[0], f"acknowledged alert {alert.pk}: {alert.title}")

    def do_silence(self, options: dict[str, Any]) -> None:
        """Silence what fits."""
        matcher = {**_scope(options), "signal": options["signal"] or "", "group": options["group"]}
        silence = acting.silence_create(
            by=command_actor(), reason=options["reason"], ends_at=timezone.now() + options["lasts"], **matcher
        )
        until = timezone.localtime(silence.ends_at)
        text = f"silence {silence.pk} until {until:%Y-%m-%d %H:%M %Z}; `alerts unsilence {silence.pk}` ends it"
        self._print_one(options, rows.silence_rows([silence])[0], text)

    def do_silences(self, options: dict[str, Any]) -> None:
        """Those in force, or the newest of all."""
        chosen = Silence.objects.order_by("-pk") if options["all"] else in_force(timezone.now())
        self._print(options, rows.SILENCES, rows.silence_rows(list(chosen[:MOST_LISTED])), "nothing is silenced")

    def do_unsilence(self, options: dict[str, Any]) -> None:
        """End one."""
        silence = acting.silence_end(silence_id=options["id"], by=command_actor())
        self._print_one(options, rows.silence_rows([silence])[0], f"ended silence {silence.pk}")

    def do_rules(self, options: dict[str, Any]) -> None:
        """Defaults and rules."""
        self._print(options, rows.RULES, rows.rule_rows(list(AlertRule.objects.order_by("pk"))), "")

    def do_set(self, options: dict[str, Any]) -> None:
        """Make or change a rule."""
        given: dict[str, Any] = {
            "threshold": options["threshold"],
            "for_s": options["lasts"],
            "severity": options["severity"],
            "owner": options["tell"],
            "enabled": options["enabled"],
        }
        given = {name: value for name, value in given.items() if value is not None}
        if not given:
            raise Usage("alerts set: give --threshold, --for, --severity, --tell, --on or --off")
        own = {name: _OWN[name] if value == "default" else value for name, value in given.items()}
        rule = acting.rule_set(by=command_actor(), signal=options["signal"], **own, **_scope(options))
        self._print_one(options, rows.rule_row(rule), f"set threshold {rule.pk} of {rule.signal}")

    def do_reset(self, options: dict[str, Any]) -> None:
        """Delete a rule."""
        acting.rule_delete(rule_id=options["id"], by=command_actor())
        self._print_one(options, {"id": options["id"], "deleted": True}, f"took threshold {options['id']} back")

    def do_check(self, options: dict[str, Any]) -> None:
        """Exit code 1 when something is over its threshold or cannot be read."""
        seen = look(get_engine(), timezone.now())
        since: dict[str, datetime] = dict(Pending.objects.values_list("key", "since"))
        since |= dict(Alert.objects.filter(resolved_at__isnull=True).values_list("key", "since"))
        over = rows.over_rows(seen, since)
        if options["as_json"]:
            self.print_json({"over": over, "unread": dict(seen.unread), "clock_skews": dict(seen.skews)})
        else:
            self.print_table(rows.OVER, over, "nothing is over its threshold")
            for name, why in seen.unread.items():
                self.stderr.write(f"{name} cannot be read: {why}")
            for what, count in seen.skews.items():
                self.stderr.write(f"clocks differ: {what} lies in the future ({count} times)")
        if over or seen.unread:
            raise Found(f"{len(over)} over the threshold, {len(seen.unread)} signals not read")

    def _print(
        self, options: dict[str, Any], columns: tuple[str, ...], found: list[dict[str, Any]], empty: str
    ) -> None:
        if options["as_json"]:
            self.print_json(found)
        else:
            self.print_table(columns, found, empty)

    def _print_one(self, options: dict[str, Any], row: dict[str, Any], text: str) -> None:
        if options["as_json"]:
            self.print_json(row)
        else:
            self.stdout.write(text)


_OWN: dict[str, Any] = {"threshold": None, "for_s": None, "severity": "", "owner": ""}
"""What leaves a part of a rule to the signal."""


def _add_scope(parser: ArgumentParser) -> None:
    for part in PARTS:
        option = "--job" if part == "job_type" else f"--{part}"
        parser.add_argument(option, dest=part, default="", metavar="GLOB", help="only where this fits, such as acme-*")


def _scope(options: dict[str, Any]) -> dict[str, Any]:
    return {part: options[part] for part in PARTS}


@contextmanager
def _refusals(action: str) -> Iterator[None]:
    try:
        yield
    except InvalidAlertAction as error:
        where = ARGUMENTS.get((action, error.field)) or OPTIONS.get(error.field) or f"--{error.field}"
        raise Refused(f"{where}: {error.problem}") from error
    except AlertError as error:
        raise Refused(str(error)) from error


def _held(text: str) -> Any:
    return text if text == "default" else int(duration(text).total_seconds())


def _float(text: str) -> Any:
    if text == "default":
        return text
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} must be a number, or default") from None
