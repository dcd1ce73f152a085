"""Outcomes that somebody else wrote, or whose job's record is none: they stop nobody and make no ghosts."""

from __future__ import annotations

import json

import pytest

from dlq.models import DeadLetter, SearchText
from dlq.outcomes import take_outcomes
from jobops.engine.client import Engine
from jobops.engine.keys import rq_job
from tests.dlq.replays import replaying, run_replays

pytestmark = pytest.mark.django_db(transaction=True)


def outcome(engine: Engine, job_id: str, replay_of: str, word: str = "cancelled") -> None:
    told = {
        "id": job_id, "replay_of": replay_of, "outcome": word, "attempt": 1, "error_class": "", "error": "",
        "into": "", "at": 1,
    }  # fmt: skip
    engine.redis.zadd(engine.keys.outcomes(), {json.dumps(told): 1})


def waiting(engine: Engine) -> int:
    return int(engine.redis.zcard(engine.keys.outcomes()))


@pytest.mark.parametrize(
    "replay_of", ["", "garbage", ":5", "a:", "a:x", "a:-1", "a:²", f"a:{'9' * 40}", f"{'a' * 201}:1", "\x00", "a:1 "]
)
def test_an_outcome_that_names_no_death_makes_no_letter(
    both: Engine, caplog: pytest.LogCaptureFixture, replay_of: str
) -> None:
    letter = replaying(both)
    outcome(both, "odd", replay_of)
    run_replays(both)
    assert list(DeadLetter.objects.values_list("pk", "state")) == [(letter.pk, "resolved")]
    assert SearchText.objects.count() == 1
    assert waiting(both) == 0
    assert "names no death" in caplog.text


@pytest.mark.parametrize("kind", ["string", "list", "zset"])
def test_an_outcome_whose_job_is_a_key_of_another_kind_makes_a_letter_and_blocks_nobody(
    both: Engine, kind: str
) -> None:
    letter = replaying(both)
    key = rq_job("odd")
    match kind:
        case "string":
            both.redis.set(key, "x")
        case "list":
            both.redis.rpush(key, "x")
        case _:
            both.redis.zadd(key, {"x": 1})
    outcome(both, "odd", "lost:2")
    run_replays(both)
    assert DeadLetter.objects.get(pk=letter.pk).state == "resolved"
    made = DeadLetter.objects.get(job_id="lost")
    assert (made.attempt, made.state, made.placeholder, made.tenant) == (2, "open", True, None)
    assert (waiting(both), take_outcomes(both)) == (0, 0)


def test_an_outcome_whose_jobs_record_is_garbage_makes_a_letter(both: Engine) -> None:
    both.redis.hset(
        rq_job("odd"), mapping={b"\xff\x00": b"\xff", "jo_attempt": "nan", "origin": "\x00", "data": b"\xff"}
    )
    outcome(both, "odd", "lost:2", "succeeded")
    assert take_outcomes(both) == 1
    assert DeadLetter.objects.get().state == "resolved"
    assert waiting(both) == 0
