"""How replays end: the same letter is resolved or opens again, once, with its old clock."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dlq.models import DeadLetter, ReplayRun, SearchText
from dlq.outcomes import take_outcomes
from dlq.services import letter_replay
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.runtime.cancelling import cancel
from tests.dlq.deaths import vanish
from tests.dlq.replays import FAILED, TYPE, dead, replaying, run_of, run_replays
from tests.runtime import factory

pytestmark = pytest.mark.django_db(transaction=True)


def waiting(engine: Engine) -> int:
    return int(engine.redis.zcard(engine.keys.outcomes()))


def test_a_success_resolves_the_letter(both: Engine) -> None:
    letter = replaying(both)
    run_replays(both)
    letter.refresh_from_db()
    run = run_of(letter)
    assert (letter.state, letter.drained_by, letter.note) == ("resolved", "replay", "")
    assert letter.drained_at == run.ended_at
    assert (run.state, run.attempt) == ("succeeded", 1)
    assert waiting(both) == 0
    row = AuditEntry.objects.get(action="letter.resolve")
    assert (row.actor, row.actor_kind, row.before) == ("scheduler", "system", {"state": "replaying"})
    assert row.after == {"state": "resolved", "replay": "succeeded", "job": run.job_id}


def test_an_end_by_contract_drains_it_too(both: Engine) -> None:
    letter = replaying(both)
    run_replays(both, Outcome.discarded("Gone", "410 for card 4242-4242"))
    letter.refresh_from_db()
    assert (letter.state, run_of(letter).state) == ("resolved", "discarded")
    assert letter.note.startswith("Replay 1 was ended by its contract: Gone: 410")
    assert "4242" not in letter.note


def test_a_death_opens_the_same_letter_with_its_history_and_its_old_clock(both: Engine) -> None:
    letter = dead(both)
    DeadLetter.objects.update(dead_at=datetime(2026, 1, 1, tzinfo=UTC), due_at=datetime(2026, 1, 1, 4, tzinfo=UTC))
    for number in (1, 2):
        letter_replay(letter_id=letter.pk, by="tests")
        run_replays(both, Outcome.failed("poison", "KeyError", f"card 4242-4242 in replay {number}", "Traceback …"))
    again = DeadLetter.objects.get()
    assert (again.pk, again.state, again.replays, again.attempt) == (letter.pk, "open", 2, 1)
    assert (again.dead_at, again.due_at) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 4, tzinfo=UTC))
    assert again.last_died_at is not None
    assert again.last_died_at > letter.dead_at
    assert (again.reason, again.error_class, again.error) == ("poison", "KeyError", "card 4242-4242 in replay 2")
    assert [(told["n"], told.get("replay")) for told in again.history] == [(1, None), (1, 1), (1, 2)]
    assert again.note.startswith("Replay 2 died again in attempt 1: KeyError: card ••••")
    assert [run.state for run in ReplayRun.objects.order_by("number")] == ["died", "died"]
    assert "replay 2" in SearchText.objects.get().text
    assert AuditEntry.objects.filter(action="letter.reopen", target_id=str(letter.pk)).count() == 2


def test_a_replay_that_will_be_tried_again_is_still_a_replay(both: Engine) -> None:
    """RT-07: no letter, and no reopened one, before the end is final."""
    letter = replaying(both)
    job = factory.claim(both)
    assert job is not None
    factory.settle(both, job, Outcome.failed("error", "E", "e"))
    run_replays(both)
    assert DeadLetter.objects.get().state == "replaying"
    both.scripts.promote()
    run_replays(both)
    letter.refresh_from_db()
    assert (letter.state, run_of(letter).attempt) == ("resolved", 2)


def test_a_cancelled_replay_opens_the_letter_and_says_so(both: Engine) -> None:
    letter = replaying(both)
    assert cancel(letter.replay_job_id) == "cancelled"
    run_replays(both)
    letter.refresh_from_db()
    assert (letter.state, letter.note) == ("open", "Replay 1 was cancelled before it ran.")
    assert run_of(letter).state == "cancelled"


def test_a_coalesced_replay_opens_the_letter_and_names_the_other_job(
    both: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = dead(both, key="k")
    both.scripts.enqueue(factory.new_job(id="other", lane="bulk", job_type=TYPE, key="k"))
    monkeypatch.setattr("dlq.services.key_refusals", lambda letters: {})  # it came in between
    letter_replay(letter_id=letter.pk, by="tests")
    take_outcomes(both)
    letter.refresh_from_db()
    assert (letter.state, run_of(letter).state) == ("open", "coalesced")
    assert letter.note == "Replay 1 did not run by itself: live job other has the same key and took its place."


def test_an_end_that_is_told_twice_counts_once(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    letter = replaying(both)
    with monkeypatch.context() as patch:
        patch.setattr(both.scripts, "outcome_ack", lambda members: 0)
        run_replays(both)
    DeadLetter.objects.update(note="a person was here")
    assert take_outcomes(both) == 1
    letter.refresh_from_db()
    assert (letter.state, letter.note, waiting(both)) == ("resolved", "a person was here", 0)
    assert AuditEntry.objects.filter(action="letter.resolve").count() == 1


def test_a_death_that_is_told_twice_counts_once(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    letter = replaying(both)
    with monkeypatch.context() as patch:
        patch.setattr(both.scripts, "dead_ack", lambda members: 0)
        run_replays(both, FAILED)
    letter_replay(letter_id=letter.pk, by="tests")
    run_replays(both)
    letter.refresh_from_db()
    assert (letter.state, letter.replays, len(letter.history)) == ("resolved", 2, 2)
    assert [run.state for run in ReplayRun.objects.order_by("number")] == ["died", "succeeded"]


def test_a_death_whose_record_is_gone_still_opens_its_letter(both: Engine) -> None:
    letter = replaying(both)
    factory.run_all(both, FAILED)
    vanish(both, letter.replay_job_id)
    run_replays(both)
    again = DeadLetter.objects.get()
    assert (again.state, again.error_class, again.error) == ("open", "ValueError", "broken")
    assert again.note.startswith("Replay 1 died again")


def test_an_end_of_a_run_that_a_restored_database_does_not_know_finds_its_letter(both: Engine) -> None:
    """Trap 11"""
    letter = replaying(both)
    ReplayRun.objects.all().delete()
    DeadLetter.objects.update(state="open", replays=0, replay_job_id="")
    run_replays(both)
    letter.refresh_from_db()
    assert (letter.state, letter.replays, run_of(letter).state) == ("resolved", 1, "succeeded")
    other = replaying(both)
    ReplayRun.objects.filter(letter=other).delete()
    DeadLetter.objects.filter(pk=other.pk).update(state="open", replays=0, replay_job_id="")
    run_replays(both, FAILED)
    other.refresh_from_db()
    assert (other.state, other.error, other.replays, run_of(other).state) == ("open", "broken again", 1, "died")
    assert letter_replay(letter_id=other.pk, by="tests").number == 2, "the first id was pushed already"


def test_an_end_without_any_letter_makes_one(both: Engine) -> None:
    """Trap 11: the database was restored to a time before the death."""
    succeeded, cancelled = replaying(both), replaying(both)
    DeadLetter.objects.all().delete()
    assert cancel(cancelled.replay_job_id) == "cancelled"
    run_replays(both)
    made = DeadLetter.objects.get(job_id=succeeded.job_id)
    assert (made.attempt, made.state, made.placeholder, made.job_type) == (1, "resolved", True, TYPE)
    assert "this database has no record of its death" in made.error
    back = DeadLetter.objects.get(job_id=cancelled.job_id)
    assert (back.state, back.tenant_slug, back.owner) == ("open", "acme", "billing")
    assert letter_replay(letter_id=back.pk, by="tests").number == 2


def test_what_is_no_outcome_is_thrown_away_and_stops_nobody(both: Engine, caplog: pytest.LogCaptureFixture) -> None:
    letter = replaying(both)
    both.redis.zadd(both.keys.outcomes(), {b"\xffnonsense": 1, b'{"id": 5}': 2})
    run_replays(both)
    assert (DeadLetter.objects.get(pk=letter.pk).state, waiting(both)) == ("resolved", 0)
    assert "nonsense" in caplog.text


def test_a_late_success_of_a_replay_that_was_taken_for_lost_resolves_the_letter(both: Engine) -> None:
    letter = replaying(both)
    ReplayRun.objects.update(state="lost")
    DeadLetter.objects.update(state="open", note="Replay 1 is lost")
    run_replays(both)
    letter.refresh_from_db()
    assert (letter.state, run_of(letter).state) == ("resolved", "succeeded")


def test_an_older_replays_end_does_not_move_a_letter_that_is_being_replayed_again(both: Engine) -> None:
    letter = replaying(both)
    ReplayRun.objects.update(state="lost")
    DeadLetter.objects.update(state="open")
    factory.run_all(both)
    letter_replay(letter_id=letter.pk, by="tests")
    take_outcomes(both)
    letter.refresh_from_db()
    assert letter.state == "replaying"
    assert [run.state for run in ReplayRun.objects.order_by("number")] == ["succeeded", "running"]
    run_replays(both, FAILED)
    letter.refresh_from_db()
    assert (letter.state, letter.replays) == ("open", 2)
