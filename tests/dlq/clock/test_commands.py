"""``manage.py dlq report`` and ``dlq clock``."""

from __future__ import annotations

import csv
import io
from datetime import datetime, timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from dlq.clock.report_rows import COLUMNS
from dlq.models import DeadLetter, DeadLetterGroup
from tests.dlq.clock.clocks import group, letter
from tests.runtime.asking import ask, refusal, text

pytestmark = pytest.mark.django_db(transaction=True)


def drained(owner: str, hours: float = 1) -> None:
    now = timezone.now()
    letter(now - timedelta(hours=9), owner=owner, state="resolved", drained_at=now, drain_s=int(hours * 3600))


def test_a_report_is_a_table_json_or_csv() -> None:
    drained("billing")
    drained("=cmd()", 3)
    rows = ask("dlq", "report")
    assert [row["team"] for row in rows] == ["=cmd()", "billing", "(all teams)"]
    assert (rows[1]["drained"], rows[1]["median_s"], rows[1]["on_time"]) == (1, 3600.0, 0.0)
    lines = list(csv.DictReader(io.StringIO(text("dlq", "report", "--csv"))))
    assert tuple(lines[0]) == COLUMNS
    assert [line["team"] for line in lines] == ["'=cmd()", "billing", "(all teams)"]
    table = text("dlq", "report", "--team", "billing").splitlines()
    assert table[0].split()[:3] == ["team", "drained", "on"]
    assert (len(table), table[1].split()[0], "1h" in table[1].split()) == (2, "billing", True)


def test_a_report_is_of_the_time_asked_for() -> None:
    drained("billing")
    DeadLetter.objects.update(drained_at=timezone.now() - timedelta(days=3))
    assert [row["drained"] for row in ask("dlq", "report", "--since", "2d")] == [0]
    assert [row["drained"] for row in ask("dlq", "report", "--since", "4d")] == [1]
    nobody = ask("dlq", "report", "--team", "nobody")
    assert [(row["team"], row["drained"], row["median_s"]) for row in nobody] == [("nobody", 0, None)]
    for wrong in ("0s", "900d", "soon"):
        code, line = refusal("dlq", "report", "--since", wrong)
        assert (code, "--since" in line) == (2, True)


def test_clocks_of_letters_are_paused_and_go_on() -> None:
    it, other = letter(), letter()
    before = it.due_at
    rows = ask("dlq", "clock", "pause", str(it.pk), str(other.pk), "--reason", "provider", "--until", "12h")
    assert [(row["kind"], row["id"]) for row in rows] == [("letter", it.pk), ("letter", other.pk)]
    it.refresh_from_db()
    assert datetime.fromisoformat(rows[0]["paused_until"]) == pytest.approx(
        it.clock_paused_until, abs=timedelta(milliseconds=1)
    )
    assert it.due_at - before == pytest.approx(timedelta(hours=12), abs=timedelta(seconds=60))
    ask("dlq", "clock", "resume", str(it.pk))
    it.refresh_from_db()
    assert it.clock_paused_until is None
    assert refusal("dlq", "clock", "resume", str(it.pk)) == (1, f"dead letter {it.pk}: it is not paused")


def test_the_clocks_of_a_cause_are_paused_and_go_on() -> None:
    cause = group()
    it = letter(group=cause)
    until = (timezone.now() + timedelta(days=3)).replace(microsecond=0)
    rows = ask("dlq", "clock", "pause", "--group", str(cause.pk), "--reason", "r", "--until", until.isoformat())
    assert [(row["kind"], row["id"]) for row in rows] == [("cause", cause.pk)]
    it.refresh_from_db()
    assert it.clock_paused_until == until
    assert ask("dlq", "clock", "resume", "--group", str(cause.pk))[0]["paused_until"] is None
    assert DeadLetterGroup.objects.get().clock_paused_until is None


def test_its_help_says_what_becomes_of_a_letters_own_pause(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("dlq", "clock", "pause", "--help")
    assert "a shorter one becomes part of the cause's pause" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("pause", "--reason", "r", "--until", "1h"), 2, "either letters by name, or --group"),
        (("pause", "1", "--group", "1", "--reason", "r", "--until", "1h"), 2, "either letters by name, or --group"),
        (("pause", "1", "--until", "1h"), 2, "--reason"),
        (("pause", "1", "--reason", "r"), 2, "--until"),
        (("pause", "1", "--reason", "r", "--until", "2026-13-16T09:00Z"), 2, "must be an ISO time, in UTC where"),
        (("pause", "9999999", "--reason", "r", "--until", "1h"), 1, "there is none"),
        (("pause", "--group", "9999999", "--reason", "r", "--until", "1h"), 1, "there is no cause 9999999"),
        (("resume", "--group", "9999999"), 1, "there is no cause 9999999"),
        (("pause", "{id}", "--reason", "r", "--until", "2020-01-01T00:00Z"), 2, "--until: must be a time"),
        (("pause", "{id}", "--reason", "r", "--until", "2w5000d"), 2, "--until"),
        (("pause", "{id}", "--reason", "r", "--until", "91d"), 2, "--until: a clock is paused for 90 days at most"),
        (("pause", "{id}", "--reason", " ", "--until", "1h"), 2, "--reason: say why"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[str, ...], code: int, says: str) -> None:
    it = letter()
    got, line = refusal("dlq", "clock", *(each.format(id=it.pk) for each in arguments))
    assert (got, says in line) == (code, True), line
    assert DeadLetter.objects.get().clock_paused_s == 0
