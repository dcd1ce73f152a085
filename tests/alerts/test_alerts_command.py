"""``manage.py alerts``."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from jobops.alerts.models import AlertRule, Silence
from jobops.alerts.signals import SIGNALS
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from jobops.scheduling.duties import Context
from jobops.scheduling.scheduler import LOCK
from jobops.steward import alerts as duty
from jobops.steward.duties import duties
from tenants.models import Team, Tenant
from tests.alerts.readings import cause
from tests.alerts.rounds import alert, channel, evaluate
from tests.runtime.asking import ask, refusal, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("known")]


@pytest.fixture
def known() -> None:
    """What rules and silences of these tests name."""
    for slug in ("acme", "a"):
        Tenant.objects.create(slug=slug, name=slug)
    Team.objects.create(name="exports")


def test_nothing_fires(engine: Engine) -> None:
    assert text("alerts", "list") == "nothing fires\n"
    assert ask("alerts", "list") == []


def test_what_fires_is_listed_and_acknowledged() -> None:
    channel()
    evaluate(0, {"a": 500, "b": 500})
    listed = ask("alerts", "list")
    assert [(row["key"], row["state"], row["owner"]) for row in listed] == [
        ("depth:a", "firing", "payments"),
        ("depth:b", "firing", "payments"),
    ]
    assert listed[0]["since"] == "2026-11-30T03:00:00.000Z"
    number = str(listed[0]["id"])
    assert "acknowledged alert" in text("alerts", "ack", number, "--for", "30m")
    assert [row["state"] for row in ask("alerts", "list")] == ["firing", "acknowledged"]
    assert AuditEntry.objects.get().actor.startswith("command:")
    assert ask("alerts", "list", "--owner", "exports") == []


def test_one_is_shown_with_its_messages() -> None:
    channel()
    evaluate(0, 500)
    shown = ask("alerts", "show", str(alert().pk))
    assert (shown["signal"], shown["deliveries"][0]["event"]) == ("depth", "fired")
    assert "payments by mail" in text("alerts", "show", str(alert().pk))
    assert refusal("alerts", "show", "4711")[0] == 1


def test_one_is_told_as_people_read_it() -> None:
    evaluate(0, 1_234_567, scope={"tenant": "acme", "group": 8, "job_type": "tests.echo"})
    shown = text("alerts", "show", str(alert().pk))
    lines = dict(line.split(maxsplit=1) for line in shown.splitlines() if len(line.split(maxsplit=1)) == 2)
    assert lines["scope"] == "tenant acme, job type tests.echo, cause 8"
    assert lines["value"] == "1,234,567"
    assert "{" not in shown
    starts = {line.index(value) for line in shown.splitlines() for value in ("depth:acme", "normal") if value in line}
    assert len(starts) == 1, "the values stand below each other"


def test_without_an_action_it_lists() -> None:
    evaluate(0, 500)
    assert text("alerts") == text("alerts", "list") != "nothing fires\n"
    assert text("teams") == text("teams", "list")


def test_silences() -> None:
    channel()
    evaluate(0, 500)
    made = ask("alerts", "silence", "--tenant", "ac*", "--for", "2h", "--reason", "known")
    assert [row["state"] for row in ask("alerts", "list")] == ["silenced"]
    assert [row["id"] for row in ask("alerts", "silences")] == [made["id"]]
    assert text("alerts", "unsilence", str(made["id"])) == f"ended silence {made['id']}\n"
    assert text("alerts", "silences") == "nothing is silenced\n"
    assert len(ask("alerts", "silences", "--all")) == 1
    assert refusal("alerts", "unsilence", str(made["id"])) == (1, f"silence {made['id']}: it has ended already")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("silence", "--for", "2h", "--reason", "x"), 1, "--signal: say what to silence"),
        (("silence", "--tenant", "a", "--for", "1y", "--reason", "x"), 2, "'1y' is not a duration"),
        (("silence", "--tenant", "a", "--for", "91d", "--reason", "x"), 1, "--for: must be within 90 days"),
        (("silence", "--tenant", "a", "--for", "2h", "--reason", " "), 1, "--reason: say why"),
        (("set", "dept", "--threshold", "5"), 1, "SIGNAL: no signal is called 'dept'; did you mean depth"),
        (("set", "depth"), 2, "give --threshold"),
        (("set", "depth", "--threshold", "many"), 2, "must be a number, or default"),
        (("set", "depth", "--threshold", "-5"), 1, "--threshold: must be a number, 0 or more; not -5"),
        (("set", "depth", "--tell", "<b>"), 1, "--tell: '<b>' cannot be the name of a team"),
        (("set", "depth", "--tell", "exprts"), 1, "--tell: no team is called 'exprts'; did you mean exports?"),
        (("set", "depth", "--on"), 1, "--threshold: say what is to be different"),
        (("set", "depth", "--team", "exports", "--off"), 1, "--team: alerts of depth"),
        (("set", "run_time", "--job", "nosuch", "--off"), 1, "--job: 'nosuch' is not known"),
        (("silence", "--signal", "dept", "--for", "2h", "--reason", "x"), 1, "--signal: no signal is called 'dept'"),
        (("silence", "--group", "5", "--for", "2h", "--reason", "x"), 1, "--group: there is no cause 5"),
        (("ack", "x"), 2, "must be a whole number"),
        (("ack", "5", "--for", "8d"), 1, "--for: must be a whole number from 1"),
        (("reset", "5"), 1, "there is no alert threshold 5"),
    ],
)
def test_what_makes_no_sense_is_one_line_that_names_the_option(
    arguments: tuple[str, ...], code: int, words: str
) -> None:
    ended, line = refusal("alerts", *arguments)
    assert ended == code
    assert words in line
    assert not AlertRule.objects.exists()
    assert not Silence.objects.exists()


def test_thresholds_are_listed_set_and_reset() -> None:
    assert [row["signal"] for row in ask("alerts", "rules")] == list(SIGNALS)
    rule = ask("alerts", "set", "depth", "--tenant", "acme", "--threshold", "500", "--for", "1m", "--severity", "high")
    assert (rule["threshold"], rule["for_s"], rule["severity"], rule["unit"]) == (500, 60, "high", "jobs")
    again = ask("alerts", "set", "depth", "--tenant", "acme", "--threshold", "default", "--off", "--tell", "exports")
    assert again["id"] == rule["id"]
    assert (again["threshold"], again["for_s"], again["enabled"], again["owner"]) == (None, 60, False, "exports")
    assert len(ask("alerts", "rules")) == len(SIGNALS) + 1
    assert ask("alerts", "reset", str(rule["id"])) == {"id": rule["id"], "deleted": True}
    assert not AlertRule.objects.exists()


def test_a_check_says_what_is_over_now_and_changes_no_alert(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.redis.set(engine.keys.lock(LOCK), "somebody")
    assert ask("alerts", "check") == {"over": [], "unread": {}, "clock_skews": {}}
    group = cause(3, first_seen_at=timezone.now() - timedelta(hours=2))
    assert refusal("alerts", "check") == (1, "2 over the threshold, 0 signals not read")
    capsys.readouterr()
    with pytest.raises(CommandError):
        call_command("alerts", "check", "--json")
    found = {row["signal"]: row for row in json.loads(capsys.readouterr().out)["over"]}
    assert set(found) == {"new_cause", "sla_forecast"}
    assert found["new_cause"]["subject"] == f"group={group.pk}"
    assert ask("alerts", "list", "--all") == []


def test_the_scheduler_evaluates_and_cleans_up(engine: Engine) -> None:
    names = {each.name: each for each in duties()}
    assert 5 <= names["alerts"].every_s <= 10
    assert not names["alerts"].eager
    cause(3)
    assert names["alerts"].run(Context(engine)) > 0
    assert {"new_cause"} <= {row["signal"] for row in ask("alerts", "list")}
    assert duty.forget(Context(engine)) == 0
