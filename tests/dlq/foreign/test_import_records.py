"""What the records of failed jobs hold: whatever it is, no secret of it is shown and none of it is run."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.utils import timezone

from dlq.models import DeadLetter
from dlq.payloads import Shown
from tests.dlq.foreign.plain_rq import CHARGE, EXPLODE, PlainRQ

pytestmark = pytest.mark.usefixtures("both")


def test_what_a_pickle_holds_is_in_no_text_of_its_letter(plain: PlainRQ) -> None:
    plain.enqueue(CHARGE, "customer-4711", 12345, token="s3cr3t-token")
    plain.work()

    plain.take_over()

    letter = DeadLetter.objects.get()
    told = f"{letter.error} {letter.traceback} {letter.history} {letter.search.text} {letter.group.title}"
    assert "s3cr3t-token" not in told
    assert "customer-4711" not in told
    assert (letter.payload, letter.payload_raw) == ("", None)
    assert Shown(letter).arguments() is None
    assert Shown(letter).error == letter.error


def test_nothing_is_ever_unpickled(plain: PlainRQ, tmp_path: Path) -> None:
    job = plain.enqueue(EXPLODE, "x")
    plain.work()
    opened = tmp_path / "opened"
    attack = f"cos\nsystem\n(S'touch {opened}'\ntR.".encode()
    for field in ("data", "meta", "result"):
        plain.redis.hset(job.key, field, attack)

    plain.take_over()

    letter = DeadLetter.objects.get()
    assert Shown(letter).arguments() is None
    assert letter.job_type == EXPLODE
    assert not opened.exists()
    pickle.loads(attack)
    assert opened.exists(), "it would have shown"


def test_a_json_job_shows_its_arguments_masked(plain: PlainRQ) -> None:
    plain.enqueue(CHARGE, "customer-4711", 12345, json=True, token="s3cr3t-token")
    plain.work(json=True)

    plain.take_over()

    letter = DeadLetter.objects.get()
    assert letter.job_type == CHARGE
    assert Shown(letter, mask=False).arguments() == {
        "args[0]": "customer-4711", "args[1]": 12345, "token": "s3cr3t-token"
    }  # fmt: skip
    assert "s3cr3t-token" not in str(Shown(letter).arguments())
    assert "s3cr3t-token" not in Shown(letter).error


def test_of_a_serializer_that_nobody_knows_only_frames_and_classes_are_told(plain: PlainRQ) -> None:
    job = plain.enqueue(CHARGE, "customer-4711", 1)
    plain.work()
    plain.redis.hset(job.key, "data", b"\x93\xa7msgpack\x01")

    plain.take_over()

    letter = DeadLetter.objects.get()
    assert letter.job_type == CHARGE
    assert "customer-4711" not in f"{letter.error}{letter.traceback}{letter.search.text}"
    assert "in charge" in letter.traceback
    assert letter.error_class.endswith("PaymentsDown")


def test_jobs_of_our_own_are_left_alone(plain: PlainRQ) -> None:
    plain.redis.hset("rq:job:ours", mapping={"data": b"x", "jo_type": "tests.echo", "status": "failed"})
    plain.redis.zadd("rq:failed:acme.interactive", {"ours": 4102444800})
    plain.redis.zadd("rq:failed:acme.interactive", {"gone": 4102444800})

    report = plain.take_over()

    assert report.imported == DeadLetter.objects.count() == 0
    assert report.skipped == {"a job of our own": 1, "its record is gone; RQ has forgotten it": 1}
    assert plain.failed("acme.interactive") == ["gone", "ours"]


@pytest.mark.parametrize(
    "fields",
    [
        {"data": b"", "status": "failed"},
        {"data": b"\x80\x04", "exc_info": b"\x78\x9c broken", "ended_at": "yesterday"},
        {"data": b"x" * 100, "description": "a\x00b(", "created_at": "\xff", "retries_left": "-3"},
        {"data": pickle.dumps(("f", None, (1,), {"x": "\x00"})), "exc_info": b"ValueError: \x00\xff\xfe"},
        {"data": b'["f", null, [1e999], {}]', "number_of_retries": b"9" * 500},
    ],
)
def test_no_record_is_too_odd(plain: PlainRQ, fields: dict[str, bytes | str]) -> None:
    plain.redis.hset("rq:job:odd", mapping=fields)
    plain.redis.zadd("rq:failed:default", {"odd": 4102444800})
    before = timezone.now()

    report = plain.take_over()

    assert report.imported == 1
    assert DeadLetter.objects.get().dead_at <= max(before, timezone.now())
    assert plain.take_over().imported == 0


def test_a_record_that_is_too_large_is_left_and_told(plain: PlainRQ) -> None:
    plain.redis.hset("rq:job:big", mapping={"data": b"x" * (4 * 1024 * 1024 + 1), "status": "failed"})
    plain.redis.zadd("rq:failed:default", {"big": 4102444800})

    assert plain.take_over().skipped == {"its record is too large": 1}
    assert plain.redis.zcard("rq:failed:default") == 1


def test_a_failure_of_years_ago_is_as_old_as_it_is(plain: PlainRQ) -> None:
    job = plain.enqueue(EXPLODE, "x")
    plain.work()
    plain.redis.hset(job.key, "ended_at", "2020-02-03T04:05:06Z")

    plain.take_over()

    assert DeadLetter.objects.get().dead_at == datetime(2020, 2, 3, 4, 5, 6, tzinfo=UTC)
