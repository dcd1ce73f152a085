"""``manage.py dlq show``: a letter with its attempts and replays, for people as tables, for scripts as JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dlq.models import DeadLetter, ReplayRun
from tests.dlq.letters import letter
from tests.runtime import factory  # registers tests.echo
from tests.runtime.asking import ask, text
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db
assert factory.echo

BEGUN = datetime(2026, 3, 12, 3, 0, 1, 250_999, tzinfo=UTC)


@pytest.fixture
def replayed() -> DeadLetter:
    attempt = {"worker": "w-1", "outcome": "retry", "error_class": "ValueError", "error": "broken"}
    history = [
        {"n": 1, "started_at": BEGUN.isoformat(), "ended_at": (BEGUN + timedelta(seconds=2)).isoformat(), **attempt},
        {"n": 1, "replay": 1, "started_at": (BEGUN + timedelta(hours=1)).isoformat(), "ended_at": None, **attempt},
        {"n": 2, "error": "cannot be read"},
    ]
    made = letter(new_tenant("acme"), history=history, traceback="Traceback (most recent call last):\n  …", replays=1)
    ReplayRun.objects.create(
        letter=made, number=1, job_id="a-1-r1", by="ada", state="died", started_at=BEGUN, check_at=BEGUN, note="died"
    )
    return made


def test_attempts_and_replays_are_tables(replayed: DeadLetter) -> None:
    shown = text("dlq", "show", str(replayed.pk))
    lines = shown.splitlines()
    first = lines.index("attempts") + 1
    assert lines[first].split("  ")[0] == "n"
    assert lines[first].split() == ["n", "replay", "started", "at", "ended", "at", "outcome", "worker", "error"]
    assert lines[first + 1].split() == [
        "1", "-", "2026-03-12T03:00:01.250Z", "2026-03-12T03:00:03.250Z", "retry", "w-1", "ValueError:", "broken",
    ]  # fmt: skip
    assert lines[first + 3].split() == ["2", "-", "-", "-", "-", "-", "cannot", "be", "read"]
    runs = lines.index("replays") + 1
    assert lines[runs + 1].split() == ["1", "died", "ada", "2026-03-12T03:00:01.250Z", "a-1-r1", "died"]
    assert shown.endswith("\nTraceback (most recent call last):\n  …\n")
    for noise in ("assignee", "history", "[{", "placeholder", "+00:00", " -\n"):
        assert noise not in shown, noise


def test_times_have_one_form_in_json_and_no_key_is_missing(replayed: DeadLetter) -> None:
    shown = ask("dlq", "show", str(replayed.pk))
    assert shown["assignee"] is None
    assert [attempt.get("started_at") for attempt in shown["history"]] == [
        "2026-03-12T03:00:01.250Z", "2026-03-12T04:00:01.250Z", None,
    ]  # fmt: skip
    assert shown["history"][1]["ended_at"] is None
    times = [shown["due_at"], shown["dead_at"], shown["runs"][0]["started_at"], shown["history"][0]["ended_at"]]
    assert all(at.endswith("Z") and len(at) == len("2026-03-12T03:00:01.250Z") for at in times)
