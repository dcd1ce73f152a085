"""An edited replay on a real engine: once, with the original kept, and with no secret of the edit in the letter."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dlq.editing import Editable, edit_refused
from dlq.edits import changes_of, secrets_of_run
from dlq.errors import WrongState
from dlq.models import DeadLetter, ReplayRun, SearchText
from dlq.payloads import Shown
from dlq.services import letter_replay, letter_replay_edited
from jobops.audit.models import AuditEntry
from jobops.contracts.secret_values import DOTS
from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.payload import decode
from jobops.engine.records import Outcome
from jobops.runtime.job_texts import secrets_of_job
from tests.dlq.replays import TYPE, dead, run_of, run_replays
from tests.runtime import factory
from tests.runtime.together import at_once
from tests.tenants.people import person

pytestmark = pytest.mark.django_db(transaction=True)
NEW_CARD = "5555-1111"


def edited(letter: DeadLetter, by: object = "tests", **given: str | None) -> ReplayRun:
    edit = Editable(letter).edit(given)
    return letter_replay_edited(letter_id=letter.pk, by=by, edit=edit)  # type: ignore[arg-type]


def arguments(engine: Engine, job_id: str) -> dict[str, object]:
    job = read_job(engine, job_id)
    assert job is not None
    return decode(job.data)[2]


def test_it_runs_once_with_the_edit_and_the_next_plain_replay_with_the_original(both: Engine) -> None:
    letter, who = dead(both, number=7), person()
    original = letter.payload
    run = edited(letter, who, number="8")
    assert arguments(both, run.job_id) == {"number": 8, "card": "4242-4242"}, "the masked one keeps its value"
    run_replays(both, Outcome.failed("poison", "ValueError", "still no", ""))
    letter.refresh_from_db()
    assert (letter.state, letter.payload) == ("open", original)
    assert json.loads(run_of(letter).payload)["kwargs"] == {"number": 8, "card": "4242-4242"}
    plain = letter_replay(letter_id=letter.pk, by="tests")
    assert arguments(both, plain.job_id) == {"number": 7, "card": "4242-4242"}
    assert (plain.number, plain.payload) == (2, "")
    run_replays(both)
    letter.refresh_from_db()
    assert letter.state == "resolved"


def test_what_its_contract_says_of_edited_arguments_drains_no_other(both: Engine) -> None:
    letter = dead(both, number=7)
    edited(letter, number="8")
    run_replays(both, Outcome.discarded("Gone", "order 8 is gone"))
    letter.refresh_from_db()
    run = run_of(letter)
    assert (letter.state, letter.drained_at, run.state) == ("open", None, "discarded")
    note = "Replay 1 was ended by its contract: Gone: order 8 is gone. That was said of the edited arguments, not of"
    assert run.note.startswith(note)
    assert letter.note == run.note
    letter_replay(letter_id=letter.pk, by="tests")
    run_replays(both, Outcome.discarded("Gone", "order 7 is gone"))
    letter.refresh_from_db()
    assert letter.state == "resolved"


def test_the_audit_says_which_arguments_and_no_value(both: Engine) -> None:
    letter = dead(both, number=7)
    edited(letter, number="8", card=f'"{NEW_CARD}"')
    row = AuditEntry.objects.get(action="letter.replay")
    assert row.after["edited"] == ["number", "card"]
    assert "8" not in str(row.after["edited"])
    assert NEW_CARD not in str(AuditEntry.objects.values_list("before", "after", "reason"))
    plain = dead(both, number=9)
    letter_replay(letter_id=plain.pk, by="tests")
    assert "edited" not in AuditEntry.objects.get(action="letter.replay", target_id=str(plain.pk)).after


def test_two_at_once_make_one_run(both: Engine) -> None:
    """I8, of a plain and an edited one as well."""
    letter = dead(both)
    edit = Editable(letter).edit({"number": "8"})
    answers: list[str] = []

    def press() -> None:
        try:
            letter_replay_edited(letter_id=letter.pk, by="tests", edit=edit)
            answers.append("run")
        except WrongState:
            answers.append("refused")

    at_once(press, 4)
    assert sorted(answers) == ["refused"] * 3 + ["run"]
    assert ReplayRun.objects.count() == 1


def test_a_secret_of_the_edit_shows_nowhere_in_the_letter(both: Engine) -> None:
    """SE-06: the letter knows its own arguments only; what died with others must not tell theirs."""
    letter = dead(both, number=7)
    run = edited(letter, card=f'"{NEW_CARD}"')
    trace = f"Traceback …\nValueError: card {NEW_CARD} was declined"
    run_replays(both, Outcome.failed("poison", "ValueError", f"card {NEW_CARD} was declined", trace))
    letter.refresh_from_db()
    assert letter.error == f"card {DOTS} was declined"
    run.refresh_from_db()
    told = (letter.error, letter.traceback, str(letter.history), letter.note, run.note)
    assert not any("5555" in text for text in told), told
    assert "5555" not in SearchText.objects.get(letter=letter).text
    assert "5555" not in str(letter.group.title if letter.group else "")
    view = read_job(both, run.job_id)
    assert view is not None
    assert NEW_CARD in secrets_of_job(replace(view, data=b"")), "also when Redis has forgotten its arguments"
    assert NEW_CARD in secrets_of_run(letter, run.job_id)
    assert "4242-4242" in secrets_of_run(letter, run.job_id)


def test_where_an_edited_run_got_to_is_no_place_for_the_original_to_resume(both: Engine) -> None:
    letter = dead(both, number=7)
    DeadLetter.objects.filter(pk=letter.pk).update(checkpoint='{"row":3}')
    run = edited(letter, number="8")
    job = factory.claim(both)
    assert job is not None
    assert job.id == run.job_id
    both.redis.hset(f"rq:job:{job.id}", mapping={"jo_state": '{"row":99}', "jo_total": "100", "jo_done": "99"})
    factory.settle(both, job, Outcome.failed("poison", "ValueError", "broken", ""))
    run_replays(both)
    letter.refresh_from_db()
    assert (letter.state, letter.checkpoint, letter.progress_done) == ("open", '{"row":3}', None)


def test_the_difference_is_told_masked_unless_who_reads_may_see_it(both: Engine) -> None:
    letter = dead(both, number=7)
    payload = Editable(letter).edit({"number": "8", "card": f'"{NEW_CARD}"'}).payload
    found = {each.name: (each.was, each.now, each.masked) for each in changes_of(letter, payload)}
    assert found == {"number": ("7", "8", False), "card": (DOTS, DOTS, True)}
    found = {each.name: (each.was, each.now, each.masked) for each in changes_of(letter, payload, mask=False)}
    assert found["card"] == ('"4242-4242"', f'"{NEW_CARD}"', False)
    repeated = Editable(letter).edit({"number": '"for 4242-4242"'}).payload
    assert changes_of(letter, repeated)[0].now == f'"for {DOTS}"'
    assert Shown(letter).arguments() == {"number": 7, "card": DOTS}


def test_an_attempt_at_something_else_is_in_the_audit(both: Engine) -> None:
    letter = dead(both)
    edit_refused(letter=letter, by="tests", names=["func", "x" * 500, *["y"] * 50])
    row = AuditEntry.objects.get(action="letter.edit_refused")
    assert (row.target_id, row.tenant_slug, row.after["fields"][0]) == (str(letter.pk), "acme", "func")
    assert len(row.after["fields"]) == 20
    assert len(row.after["fields"][1]) == 80
    letter.refresh_from_db()
    assert (letter.state, letter.job_type) == ("open", TYPE)
