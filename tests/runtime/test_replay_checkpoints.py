"""A dead letter carries how far its job got, and a replay goes on there, unless somebody says otherwise."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from dlq.intake import take_in
from dlq.models import BulkAction, DeadLetter
from dlq.payloads import Shown
from dlq.services import letter_replay
from jobops import CurrentJob, current_job
from jobops.audit.models import AuditEntry
from jobops.contracts.secret_values import DOTS
from jobops.engine.client import Engine
from jobops.engine.payload import decode_result
from jobops.engine.records import Outcome
from tests.dlq.deaths import set_field
from tests.runtime import effect_jobs, factory
from tests.runtime.attempts import attempt, calling, enqueue, run

pytestmark = pytest.mark.django_db(transaction=True)


def die(engine: Engine) -> DeadLetter:
    """Run whatever waits to its death, and take it in."""
    while attempt(engine)[2] != "dead":
        pass
    take_in(engine)
    return DeadLetter.objects.latest("pk")


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
def letter(both: Engine, ledger: Path) -> DeadLetter:
    """Of a job that got to 400 of 1,000."""
    enqueue(effect_jobs.slip, str(ledger))
    return die(both)


def replayed(engine: Engine, ledger: Path) -> str:
    """Where the replay that waits begins."""
    ledger.unlink(missing_ok=True)
    attempt(engine)
    return effect_jobs.read(ledger)[0]


def audited() -> list[Any]:
    return [entry.after.get("from") for entry in AuditEntry.objects.filter(action="letter.replay").order_by("pk")]


def test_the_letter_has_the_checkpoint_and_the_progress(letter: DeadLetter) -> None:
    assert (letter.checkpoint, letter.progress_done, letter.progress_total) == ("400", 400, 1_000)
    assert letter.checkpoint_at is not None
    assert letter.enqueued_at is not None
    assert letter.enqueued_at <= letter.checkpoint_at <= letter.dead_at


def test_a_replay_that_saves_nothing_makes_the_checkpoint_no_younger(both: Engine, letter: DeadLetter) -> None:
    """Its job was given the checkpoint and did not save it."""
    letter_replay(letter_id=letter.pk, by="tests")
    die(both)
    again = DeadLetter.objects.get(pk=letter.pk)
    assert (again.checkpoint, again.checkpoint_at) == ("400", letter.checkpoint_at)


def test_a_replay_that_gets_further_makes_it_younger(both: Engine) -> None:
    def steps() -> None:
        current_job().checkpoint((current_job().state or 0) + 1)
        raise RuntimeError("no")

    enqueue(calling("effects.steps-on", steps, max_attempts=1))
    first = die(both)
    letter_replay(letter_id=first.pk, by="tests")
    die(both)
    then = DeadLetter.objects.get(pk=first.pk)
    assert (first.checkpoint, then.checkpoint) == ("1", "2")
    assert first.checkpoint_at is not None
    assert then.checkpoint_at is not None
    assert first.dead_at < then.checkpoint_at


def test_a_replay_resumes_and_the_audit_says_so(both: Engine, letter: DeadLetter, ledger: Path) -> None:
    """OB-11: it dies again at its first step, and the letter's position is as it was."""
    letter_replay(letter_id=letter.pk, by="tests")
    assert replayed(both, ledger) == "400"
    die(both)
    letter.refresh_from_db()
    assert (letter.state, letter.replays, letter.checkpoint, letter.progress_done) == ("open", 1, "400", 400)
    assert audited() == ["checkpoint"]


def test_a_replay_from_the_start_begins_with_nothing_and_a_death_at_once_loses_nothing(
    both: Engine, letter: DeadLetter, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CurrentJob, "checkpoint", _broken)
    letter_replay(letter_id=letter.pk, by="tests", from_start=True)
    assert replayed(both, ledger) == "None"
    die(both)
    letter.refresh_from_db()
    assert letter.checkpoint == "400", "the replay saved nothing, so it has overwritten nothing"
    assert audited() == ["start"]


def _broken(*_: object) -> None:
    raise RuntimeError("before the first checkpoint")


def test_where_there_is_no_checkpoint_nothing_is_said_of_it(both: Engine) -> None:
    def fails() -> None:
        raise RuntimeError("at once")

    enqueue(calling("effects.fails-at-once", fails, max_attempts=1))
    letter = die(both)
    assert (letter.checkpoint, letter.progress_done, letter.progress_total) == ("", None, None)
    letter_replay(letter_id=letter.pk, by="tests")
    assert audited() == [None]


@pytest.mark.parametrize("saved_at", [b"soon", b"9" * 40, b"-1", b"\xff", b""])
def test_a_time_that_is_none_costs_the_letter_only_that(both: Engine, saved_at: bytes) -> None:
    def fails() -> None:
        current_job().checkpoint(7)
        raise RuntimeError("at once")

    job_id = enqueue(calling("effects.odd-time", fails, max_attempts=1))
    claimed, outcome = factory.claim(both), Outcome.failed("poison")
    assert claimed is not None
    run(claimed)
    set_field(both, job_id, "jo_state_at", saved_at)
    assert factory.settle(both, claimed, outcome) == "dead"
    take_in(both)
    letter = DeadLetter.objects.get()
    assert letter.checkpoint == "7"
    assert letter.checkpoint_at is None or letter.checkpoint_at.year < 1971


@pytest.mark.parametrize("state", [b"\x80", b"{", b"[" * 9_000, b'"' + b"x" * 70_000 + b'"', b'{"__jobops__":"os"}'])
def test_what_is_no_checkpoint_of_ours_is_left_out_and_the_letter_is_made(both: Engine, state: bytes) -> None:
    def fails() -> None:
        raise RuntimeError("at once")

    job_id = enqueue(calling("effects.odd-state", fails, max_attempts=1))
    set_field(both, job_id, "jo_state", state)
    set_field(both, job_id, "jo_done", b"-1")
    set_field(both, job_id, "jo_total", b"9" * 40)
    set_field(both, job_id, "jo_state_at", b"9" * 40)
    assert attempt(both)[2] == "dead"
    take_in(both)
    letter = DeadLetter.objects.get()
    assert (letter.placeholder, letter.checkpoint, letter.progress_total) == (False, "", None)
    assert letter.checkpoint_at is None


def test_any_text_comes_back_from_the_letter_as_it_was(both: Engine) -> None:
    """PX-01"""
    states: list[Any] = []
    position = {"after": "a\0b\u2028ü", "page": 7}

    def fails() -> None:
        states.append(current_job().state)
        current_job().checkpoint(position)
        raise RuntimeError("no")

    enqueue(calling("effects.text", fails, max_attempts=1))
    letter = die(both)
    letter_replay(letter_id=letter.pk, by="tests")
    attempt(both)
    assert states == [None, position]


def test_secrets_in_a_checkpoint_are_masked_as_those_of_arguments(both: Engine) -> None:
    def fails(card: str) -> None:
        current_job().checkpoint({"card": "other", "api_token": "t0ken", "after": 3, "log": f"charged {card}"})
        raise RuntimeError("no")

    enqueue(calling("effects.secret", fails, max_attempts=1, redact=["card"]), card="4111-1111")
    letter = die(both)
    shown = Shown(letter).checkpoint()
    assert (shown["after"], shown["log"]) == (3, f"charged {DOTS}")
    assert "other" not in json.dumps(shown)
    assert "t0ken" not in json.dumps(shown)
    assert Shown(letter, mask=False).checkpoint()["api_token"] == "t0ken"


def command(*arguments: str) -> Any:
    out = StringIO()
    call_command("dlq", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_the_command_resumes_unless_it_is_told_to_begin_anew(both: Engine, letter: DeadLetter, ledger: Path) -> None:
    shown = command("show", str(letter.pk))
    assert (shown["checkpoint"], shown["progress"]) == (400, {"done": 400, "total": 1_000})
    assert shown["checkpoint_at"].endswith("Z")
    assert command("replay", str(letter.pk))["done"] == 1
    assert replayed(both, ledger) == "400"
    die(both)
    assert command("replay", "--all", "--from-start", "--dry-run")["would_do"] == 1
    anew = command("replay", "--all", "--from-start")
    assert anew == {
        "matched": 1, "done": 1, "skipped": 0, "skipped_for": {}, "dry_run": False, "bulk": anew["bulk"],
        "state": "finished",
    }  # fmt: skip
    assert BulkAction.objects.get(pk=anew["bulk"]).from_start
    assert replayed(both, ledger) == "None"
    assert audited() == ["checkpoint", "start"]
    again = command("replay", str(letter.pk), "--from-start")
    assert (again["done"], again["skipped_for"]) == (0, {"already being replayed": 1})


def test_a_bulk_replay_resumes(both: Engine, letter: DeadLetter, ledger: Path) -> None:
    assert command("replay", "--job", "effects.slip")["done"] == 1
    assert replayed(both, ledger) == "400"


def test_the_first_success_of_a_resumed_replay_begins_where_the_dead_run_was(both: Engine, ledger: Path) -> None:
    """OB-10: the union of what the dead run and its replay did is everything."""
    walk = calling("effects.walk-once", effect_jobs.walk.job_type.func, max_attempts=1)
    enqueue(walk, str(ledger), 10, 3, stop_at=5)
    letter = die(both)
    DeadLetter.objects.filter(pk=letter.pk).update(payload=letter.payload.replace('"stop_at": 5', '"stop_at": 0'))
    letter_replay(letter_id=letter.pk, by="tests")
    _, outcome, ended = attempt(both)
    assert (ended, decode_result(outcome.result)) == ("succeeded", 3)
    assert set(map(int, effect_jobs.read(ledger))) == set(range(1, 11))
