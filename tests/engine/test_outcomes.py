"""Outcomes: a watched job (a replay) tells its end exactly once, whatever the end is; others tell nothing."""

from __future__ import annotations

import json

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.records import JobOutcome, NewJob, Outcome
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, dump, expire, job, status


def replay(job_id: str = "r", **fields: object) -> NewJob:
    """A watched job."""
    return job(job_id, **{"replay_of": "lost:3", "max_attempts": 2} | fields)


def only(scripts: Scripts) -> JobOutcome:
    """The one outcome there is."""
    (outcome,) = scripts.outcome_batch()
    return outcome


def test_a_success_is_told(scripts: Scripts) -> None:
    scripts.enqueue(replay())
    before = scripts.now_ms()
    Slot(scripts).run()
    told = only(scripts)
    assert (told.id, told.replay_of, told.outcome, told.attempt) == ("r", "lost:3", "succeeded", 1)
    assert (told.error_class, told.error, told.into) == ("", "", "")
    assert before <= told.at_ms <= scripts.now_ms()


def test_a_discard_by_contract_is_told_with_its_error_cut(scripts: Scripts) -> None:
    scripts.enqueue(replay())
    Slot(scripts).run(Outcome.discarded("Gone", "ü" * 9_000))
    told = only(scripts)
    assert (told.outcome, told.error_class, told.error) == ("discarded", "Gone", "ü" * 500)


@pytest.mark.parametrize("delay_ms", [0, 60_000])
def test_a_cancellation_is_told(scripts: Scripts, delay_ms: int) -> None:
    scripts.enqueue(replay(delay_ms=delay_ms))
    assert scripts.cancel("r") == "cancelled"
    assert scripts.cancel("r") == "ended"
    assert (only(scripts).outcome, only(scripts).attempt) == ("cancelled", 0)


def test_a_cancellation_by_key_between_two_attempts_is_told(scripts: Scripts) -> None:
    scripts.enqueue(replay(key="k"))
    Slot(scripts).run(Outcome.failed("error", delay_ms=60_000))
    assert scripts.cancel_key("acme", "t.work", "k") == ("cancelled", "r")
    assert (only(scripts).outcome, only(scripts).attempt) == ("cancelled", 1)


def test_a_coalescing_is_told_once_however_often_it_is_pushed(scripts: Scripts) -> None:
    scripts.enqueue_many([job("live", key="k"), replay(key="k"), replay(key="k")])
    assert scripts.enqueue(replay(key="k")).state == "coalesced"
    told = only(scripts)
    assert (told.id, told.outcome, told.into, told.replay_of) == ("r", "coalesced", "live", "lost:3")


def test_a_death_is_told_by_the_intake_alone_and_says_what_it_was_a_replay_of(scripts: Scripts) -> None:
    scripts.enqueue(replay())
    slot = Slot(scripts)
    assert slot.run(BOOM) == "retry"
    scripts.promote()
    assert slot.run(BOOM) == "dead"
    assert scripts.outcome_batch() == []
    (death,) = scripts.dead_batch()
    assert (death.member, death.fields[b"jo_replay_of"]) == ("r:2", b"lost:3")


def test_what_is_no_end_is_not_told(engine: Engine, scripts: Scripts) -> None:
    """A retry, a release, a lost worker, and a push for the second time."""
    scripts.enqueue(replay(max_attempts=5))
    assert scripts.enqueue(replay()).state == "duplicate"
    slot = Slot(scripts)
    slot.run(BOOM)
    scripts.promote()
    slot.run(Outcome.released())
    slot.need()
    expire(engine, "r")
    assert scripts.rescue().moved == 1
    assert scripts.outcome_batch() == []
    assert slot.settle().outcome == "stale"
    assert scripts.outcome_batch() == []
    assert Slot(scripts, "s2").run() == "succeeded"
    assert only(scripts).attempt == 3


def test_jobs_that_nobody_watches_tell_nothing(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a", key="k"), job("b", key="k"), job("c"), job("d")])
    slot = Slot(scripts)
    slot.run()
    slot.run(Outcome.discarded())
    scripts.cancel("d")
    assert scripts.outcome_batch() == []
    assert engine.redis.exists(engine.keys.outcomes(), engine.keys.outcome_of()) == 0
    assert engine.redis.hexists("rq:job:a", "jo_replay_of") is False


def test_a_lost_answer_tells_nothing_twice(scripts: Scripts) -> None:
    """Trap 1."""
    scripts.enqueue(replay())
    slot = Slot(scripts)
    claimed = slot.need()
    for _ in range(3):
        settled = scripts.settle(slot.name, slot.seq + 1, "r", claimed.token, Outcome.succeeded())
        assert settled.outcome == "succeeded"
    assert only(scripts).outcome == "succeeded"


def test_an_end_is_told_although_the_jobs_record_vanished_while_it_ran(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(replay())
    slot = Slot(scripts)
    slot.need()
    engine.redis.delete("rq:job:r")
    slot.settle()
    assert (only(scripts).replay_of, only(scripts).outcome) == ("lost:3", "succeeded")


def test_a_death_whose_record_vanished_while_it_ran_says_what_it_was_a_replay_of(
    engine: Engine, scripts: Scripts
) -> None:
    scripts.enqueue(replay())
    slot = Slot(scripts)
    slot.need()
    engine.redis.delete("rq:job:r")
    assert slot.settle(outcome=BOOM).outcome == "dead"
    assert scripts.dead_batch()[0].fields[b"jo_replay_of"] == b"lost:3"


def test_the_oldest_are_read_first_and_reading_changes_nothing(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([replay(f"r{n}") for n in range(3)])
    for n in range(3):
        scripts.cancel(f"r{n}")
    (member,) = [told.member for told in scripts.outcome_batch() if told.id == "r2"]
    engine.redis.zadd(engine.keys.outcomes(), {member: 1})
    before = dump(engine.redis)
    assert [told.id for told in scripts.outcome_batch(1)] == ["r2"]
    assert len(scripts.outcome_batch(2)) == 2
    assert len(scripts.outcome_batch(0)) == 1, "no limit of a caller reads everything"
    assert dump(engine.redis) == before


def test_exactly_the_named_outcomes_are_removed_by_two_readers(engine: Engine, scripts: Scripts) -> None:
    """Trap 4: the second removes nothing that came after what both had read."""
    scripts.enqueue_many([replay("r1"), replay("r2", replay_of="lost:4")])
    scripts.cancel("r1")
    one, two = scripts.outcome_batch(), scripts.outcome_batch()
    assert one == two
    scripts.cancel("r2")
    assert scripts.outcome_ack([told.member for told in one]) == 1
    assert scripts.outcome_ack([told.member for told in two]) == 0
    assert scripts.outcome_ack([]) == 0
    assert only(scripts).id == "r2"
    assert scripts.fates(["r1"])["r1"].pending is False
    assert scripts.fates(["r2"])["r2"].pending is True


GARBAGE = [b"", b"r", b"\xff\xfe{}", b"[]", b"{}", b'{"id":7}', b'{"id":"r","outcome":"exploded"}', b"[" * 50_000]
GARBAGE += [json.dumps({"id": "r", "outcome": "succeeded", "attempt": value}).encode() for value in ("x", None, 1e999)]


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_what_is_no_outcome_is_named_and_can_be_removed(engine: Engine, scripts: Scripts, garbage: bytes) -> None:
    engine.redis.zadd(engine.keys.outcomes(), {garbage: 1})
    scripts.enqueue(replay())
    scripts.cancel("r")
    first, second = scripts.outcome_batch()
    assert (first.outcome, first.id, second.outcome) == ("garbage", "", "cancelled")
    assert scripts.outcome_ack([first.member]) == 1
    assert only(scripts) == second


def test_texts_of_an_outcome_can_always_be_stored(engine: Engine, scripts: Scripts) -> None:
    told = {"id": "r", "replay_of": "\ud800", "outcome": "discarded", "attempt": 10**30, "error": 5, "at": 10**30}
    engine.redis.zadd(engine.keys.outcomes(), {json.dumps(told | {"error_class": None, "into": []}): 1})
    outcome = only(scripts)
    assert (outcome.outcome, outcome.replay_of, outcome.error) == ("discarded", "\\ud800", "5")
    assert (outcome.attempt, outcome.at_ms) == (2**31 - 1, 2**53)
    scripts.outcome_ack([outcome.member])


@pytest.mark.leaves_broken
@pytest.mark.parametrize("key", ["outcomes", "outcome_of"])
def test_a_key_of_another_kind_keeps_no_job_from_ending(engine: Engine, scripts: Scripts, key: str) -> None:
    engine.redis.set(getattr(engine.keys, key)(), "a string")
    scripts.enqueue_many([replay("a"), replay("b"), replay("c", key="k"), replay("d", key="k")])
    assert scripts.cancel("b") == "cancelled"
    assert Slot(scripts).run() == "succeeded"
    assert (status(engine, "a"), status(engine, "b"), status(engine, "d")) == ("finished", "canceled", None)
    fates = scripts.fates(["a", "b"])
    assert [(fate.state, fate.pending) for fate in fates.values()] == [("succeeded", False), ("cancelled", False)]


def test_a_view_says_what_a_job_is_a_replay_of(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([replay(), job("a")])
    views = [read_job(engine, name) for name in ("r", "a")]
    assert [view.replay_of for view in views if view] == ["lost:3", ""]


def test_the_longest_id_of_a_replay_is_taken_and_runs(scripts: Scripts) -> None:
    name = "x" * 160
    scripts.enqueue(replay(name, replay_of=f"{'y' * 200}:2147483647"))
    assert Slot(scripts).run() == "succeeded"
    assert only(scripts).id == name
