"""Replays that nothing is heard of (trap 10): each is found, or its letter opens again and says why."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from dlq.models import DeadLetter, ReplayRun
from dlq.outcomes import take_outcomes
from dlq.services import letter_replay
from dlq.watch import watch, watch_all
from jobops.context import outbox_rows, relay
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.runtime import enqueuer
from jobops.runtime.enqueuer import pusher
from jobops.steward.policies import check_epoch
from tests.dlq.replays import FAILED, dead, replaying, run_of, run_replays
from tests.runtime import factory

pytestmark = pytest.mark.django_db(transaction=True)


def in_the_outbox(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> DeadLetter:
    """A letter whose replay's process was killed after the commit, before the push."""
    letter = dead(engine)
    with monkeypatch.context() as patch:
        patch.setattr(enqueuer(), "push", lambda ids: 0)
        letter_replay(letter_id=letter.pk, by="tests")
    return DeadLetter.objects.get(pk=letter.pk)


def look(engine: Engine) -> None:
    watch_all()
    watch(engine)


def test_nobody_is_looked_for_before_a_minute_has_passed(both: Engine) -> None:
    replaying(both)
    assert watch(both) == 0
    ReplayRun.objects.update(check_at=timezone.now())
    assert watch(both) == 1


def test_what_waits_runs_or_is_delayed_is_left_alone_and_looked_for_again(both: Engine) -> None:
    letter = replaying(both)
    look(both)
    soon = run_of(letter).check_at - timezone.now()
    assert timedelta(seconds=50) < soon <= timedelta(seconds=60)
    ReplayRun.objects.update(started_at=timezone.now() - timedelta(hours=1))
    assert factory.claim(both) is not None
    look(both)
    assert run_of(letter).check_at - timezone.now() > timedelta(minutes=9), "a long one is not asked for all the time"
    assert DeadLetter.objects.get().state == "replaying"


def test_a_replay_in_the_outbox_is_on_its_way(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    in_the_outbox(both, monkeypatch)
    look(both)
    assert DeadLetter.objects.get().state == "replaying"
    OutboxEntry.objects.update(next_try_at=timezone.now())
    relay.relay(pusher())
    run_replays(both)
    assert DeadLetter.objects.get().state == "resolved"


def test_one_that_is_nowhere_is_lost_and_its_letter_opens(both: Engine) -> None:
    letter = replaying(both)
    both.redis.flushall()
    look(both)
    letter.refresh_from_db()
    assert (letter.state, run_of(letter).state) == ("open", "lost")
    assert letter.note == "Replay 1 is lost: its job is neither in the outbox nor in Redis. It may have run."


def test_a_changed_epoch_opens_them_at_once(both: Engine) -> None:
    """Trap 11"""
    check_epoch(both)
    letter = replaying(both)
    both.redis.flushall()
    assert watch(both) == 0
    check_epoch(both)
    assert watch(both) == 1
    assert DeadLetter.objects.get(pk=letter.pk).state == "open"


def test_a_refused_one_opens_its_letter_and_cannot_run_any_more(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """OB-05: the row was parked after many refusals; the letter is where people decide."""
    letter = in_the_outbox(both, monkeypatch)
    OutboxEntry.objects.update(state="parked", parked_as="refused", last_error="InvalidJob: lane: 'x' for 4242-4242")
    look(both)
    letter.refresh_from_db()
    assert (letter.state, run_of(letter).state) == ("open", "refused")
    assert letter.note == "Replay 1 was refused and did not run: InvalidJob: lane: 'x' for ••••••••."
    assert OutboxEntry.objects.get().state == "cancelled"
    assert outbox_rows.unpark(letter.replay_job_id) is False


def test_one_that_is_let_go_in_that_moment_goes_on(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    letter = in_the_outbox(both, monkeypatch)
    OutboxEntry.objects.update(state="parked", parked_as="refused")
    cancel = outbox_rows.cancel

    def too_late(rows: object) -> int:
        assert outbox_rows.unpark(letter.replay_job_id)
        return cancel(rows)  # type: ignore[arg-type]

    monkeypatch.setattr("dlq.watch.outbox_rows.cancel", too_late)
    look(both)
    assert DeadLetter.objects.get().state == "replaying"
    assert OutboxEntry.objects.get().state == "waiting"


def test_one_that_was_let_go_and_pushed_since_the_look_goes_on(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or its letter would open while its job waits, and be replayed once more."""
    letter = in_the_outbox(both, monkeypatch)
    OutboxEntry.objects.update(state="parked", parked_as="refused", last_error="x")
    fates = both.scripts.fates

    def just_before(ids: list[str]) -> object:
        found = fates(ids)
        assert outbox_rows.unpark(ids[0])
        relay.relay(pusher())
        return found

    with monkeypatch.context() as patch:
        patch.setattr(both.scripts, "fates", just_before)
        look(both)
    assert factory.waiting(both, "acme.bulk") == [letter.replay_job_id]
    assert DeadLetter.objects.get().state == "replaying"
    look(both)
    run_replays(both)
    assert DeadLetter.objects.get().state == "resolved"


def test_one_that_somebody_cancels_in_that_moment_is_told_as_cancelled(
    both: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_outbox(both, monkeypatch)
    OutboxEntry.objects.update(state="parked", parked_as="refused", last_error="x")
    fates = both.scripts.fates

    def just_before(ids: list[str]) -> object:
        outbox_rows.cancel(OutboxEntry.objects.all())
        return fates(ids)

    with monkeypatch.context() as patch:
        patch.setattr(both.scripts, "fates", just_before)
        look(both)
    assert DeadLetter.objects.get().state == "replaying"
    look(both)
    assert DeadLetter.objects.get().note == "Replay 1 was cancelled before it ran."


def test_one_in_doubt_is_lost_but_not_if_redis_has_it(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    letter = in_the_outbox(both, monkeypatch)
    OutboxEntry.objects.update(state="parked", parked_as="outcome_unknown")
    look(both)
    letter.refresh_from_db()
    assert (letter.state, run_of(letter).state) == ("open", "lost")
    assert "nobody knows whether its job arrived" in letter.note
    other = replaying(both)
    OutboxEntry.objects.filter(pk=letter.replay_job_id).update(id=other.replay_job_id)
    OutboxEntry.objects.update(state="parked", parked_as="outcome_unknown")
    look(both)
    assert DeadLetter.objects.get(pk=other.pk).state == "replaying"


def test_rows_that_ended_in_the_outbox_tell_how(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled, coalesced = in_the_outbox(both, monkeypatch), in_the_outbox(both, monkeypatch)
    assert outbox_rows.cancel(OutboxEntry.objects.filter(pk=cancelled.replay_job_id)) == 1
    OutboxEntry.objects.filter(pk=coalesced.replay_job_id).update(state="coalesced", coalesced_into="other")
    look(both)
    notes = dict(DeadLetter.objects.values_list("pk", "note"))
    assert notes[cancelled.pk] == "Replay 1 was cancelled before it ran."
    assert "live job other has the same key" in notes[coalesced.pk]


@pytest.mark.parametrize("ends", ["succeeded", "died"])
def test_an_end_that_is_about_to_be_taken_in_is_left_to_that_duty(both: Engine, ends: str) -> None:
    letter = replaying(both)
    factory.run_all(both, FAILED if ends == "died" else None)
    look(both)
    assert run_of(letter).state == "running"
    assert run_of(letter).check_at - timezone.now() <= timedelta(seconds=5)


def test_an_end_that_redis_lost_is_told_by_the_job_itself(both: Engine) -> None:
    resolved, opened = replaying(both), replaying(both)
    job = factory.claim(both)
    while job is not None:
        factory.settle(both, job, FAILED if job.id == opened.replay_job_id else Outcome.succeeded())
        job = factory.claim(both)
    both.redis.delete(both.keys.outcomes(), both.keys.dead())
    look(both)
    states = dict(DeadLetter.objects.values_list("pk", "state"))
    assert states == {resolved.pk: "resolved", opened.pk: "open"}
    opened.refresh_from_db()
    assert (opened.error_class, opened.error) == ("ValueError", "broken again")
    assert take_outcomes(both) == 0


def test_while_redis_is_away_nothing_is_concluded(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from redis.exceptions import ConnectionError as Away

    def away(ids: object) -> None:
        raise Away("no route")

    replaying(both)
    watch_all()
    monkeypatch.setattr(both.scripts, "fates", away)
    with pytest.raises(Away):
        watch(both)
    assert DeadLetter.objects.get().state == "replaying"
