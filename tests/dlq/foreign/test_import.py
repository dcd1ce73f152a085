"""Failed jobs of a plain RQ installation become letters: each failure once, whatever its serializer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.utils import timezone

from dlq.causes.checking import differences
from dlq.foreign import importing
from dlq.foreign.wish import Wish
from dlq.models import DeadLetter, DeadLetterGroup, ForeignJob, RuleSet
from dlq.searching import matching
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.foreign.plain_rq import CHARGE, EXPLODE, PlainRQ
from tests.runtime.together import twice_at_once

pytestmark = pytest.mark.usefixtures("both")


def test_a_pickled_job_becomes_a_letter_that_tells_what_went_wrong(plain: PlainRQ) -> None:
    job = plain.enqueue(CHARGE, "customer-4711", 12345, token="s3cr3t-token")
    plain.work()

    report = plain.take_over()

    letter = DeadLetter.objects.get()
    assert (report.imported, report.removed) == (1, 1)
    assert (letter.job_type, letter.queue, letter.reason) == (CHARGE, "default", "exhausted")
    assert letter.error_class == "tests.dlq.foreign.plain_jobs.PaymentsDown"
    assert letter.error.startswith("no answer for ")
    assert 'in charge\n    raise PaymentsDown(f"no answer for' in letter.traceback
    assert letter.group_id is not None
    assert letter.group.open == 1
    assert "charge in " in letter.group.culprit
    assert abs(letter.dead_at - timezone.now()) < timedelta(minutes=1)
    assert (letter.attempts, letter.max_attempts, letter.state) == (1, 1, "open")
    assert matching(DeadLetter.objects.all(), job.id).get() == letter
    assert plain.failed() == []


def test_a_second_import_finds_nothing_new(plain: PlainRQ) -> None:
    for number in range(3):
        plain.enqueue(EXPLODE, f"file-{number}")
    plain.work()
    plain.take_over(leave=True)

    again = plain.take_over(leave=True)

    assert (again.imported, again.known, DeadLetter.objects.count()) == (0, 3, 3)
    assert len(plain.failed()) == 3
    assert plain.take_over().removed == 3
    assert plain.failed() == []


def test_one_that_was_killed_before_the_removal_leaves_no_second_letter(plain: PlainRQ) -> None:
    plain.enqueue(EXPLODE, "x")
    plain.work()
    with patch("dlq.foreign.scripts.Commands.take", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        plain.take_over()
    assert len(plain.failed()) == 1

    report = plain.take_over()

    assert (report.imported, report.known, report.removed) == (0, 1, 1)
    assert DeadLetter.objects.count() == 1


@pytest.mark.usefixtures("transactional_db")
def test_two_at_once_make_one_letter_of_each(plain: PlainRQ) -> None:
    job = plain.enqueue(EXPLODE, "x")
    plain.work()
    plain.copies(job, 300)

    twice_at_once(lambda: plain.take_over())
    plain.take_over()

    assert DeadLetter.objects.count() == ForeignJob.objects.count() == 301
    assert plain.failed() == []
    assert list(differences()) == []


def test_what_another_import_takes_out_meanwhile_makes_this_one_pass_over_nothing(
    plain: PlainRQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is killed after its first page."""
    job = plain.enqueue(EXPLODE, "x")
    plain.work()
    plain.copies(job, 2 * importing.PAGE)
    deal, others = importing._portion, list[bool]()

    def portion(*args: Any) -> Any:
        if not others:
            others.append(True)
            stop, wish = iter([False]), Wish(source=plain.source, by="command:other")
            importing.take_over(plain.commands, wish, stopping=lambda: next(stop, True))
        return deal(*args)

    monkeypatch.setattr(importing, "_portion", portion)
    plain.take_over()
    assert plain.failed() == []
    assert ForeignJob.objects.count() == 2 * importing.PAGE + 1


def test_a_dry_run_counts_and_writes_nothing(plain: PlainRQ) -> None:
    plain.enqueue(EXPLODE, "x")
    plain.enqueue(CHARGE, "c", 1, queue="billing")
    plain.work("default", "billing")

    report = plain.take_over(dry_run=True)

    assert report.imported == 2
    assert report.queues == {"default": 1, "billing": 1}
    assert set(report.errors) == {"ValueError", "tests.dlq.foreign.plain_jobs.PaymentsDown"}
    assert DeadLetter.objects.count() == DeadLetterGroup.objects.count() == 0
    assert not AuditEntry.objects.filter(action="source.import").exists()
    assert (len(plain.failed()), len(plain.failed("billing"))) == (1, 1)


def test_only_the_queues_that_are_asked_for_are_taken_over(plain: PlainRQ) -> None:
    plain.enqueue(EXPLODE, "x")
    plain.enqueue(EXPLODE, "y", queue="billing")
    plain.work("default", "billing")

    plain.take_over(queues=["billing"])

    assert DeadLetter.objects.get().queue == "billing"
    assert len(plain.failed()) == 1


def test_a_registry_of_a_queue_that_rq_lists_no_more_is_found(plain: PlainRQ) -> None:
    plain.enqueue(EXPLODE, "x")
    plain.work()
    plain.redis.delete("rq:queues")

    assert plain.take_over().imported == 1


def test_a_queue_whose_name_cannot_be_printed_is_told_as_left_alone(plain: PlainRQ) -> None:
    plain.enqueue(EXPLODE, "file-1")
    plain.work()
    plain.redis.zadd(b"rq:failed:bad\x07name", {"a": 1.0, "b": 2.0})
    plain.redis.zadd(b"rq:failed:\xff", {"c": 1.0})
    plain.redis.set(b"rq:failed:odd\n", "no registry")

    report = plain.take_over()

    assert report.imported == 1
    assert report.skipped == {"the name of its queue cannot be printed": 3}
    assert plain.redis.zcard(b"rq:failed:bad\x07name") == 2


def test_a_rule_for_the_queue_says_whose_it_is(plain: PlainRQ) -> None:
    RuleSet.objects.create(text="queue=billing* -> payments sla=4h severity=high", by="tester")
    plain.enqueue(EXPLODE, "x", queue="billing-eu")
    plain.work("billing-eu")

    plain.take_over()

    letter = DeadLetter.objects.get()
    assert (letter.owner, letter.severity, letter.by_hand) == ("payments", "high", False)
    assert letter.due_at == letter.dead_at + timedelta(hours=4)


def test_an_owner_that_is_given_stays(plain: PlainRQ) -> None:
    RuleSet.objects.create(text="queue=* -> payments", by="tester")
    plain.enqueue(EXPLODE, "x")
    plain.work()

    plain.take_over(owner="migration")

    letter = DeadLetter.objects.get()
    assert (letter.owner, letter.by_hand, letter.owned_by) == ("migration", True, "by hand: command:tester")
    assert (letter.group.owner, letter.group.by_hand) == ("migration", True)


def test_letters_are_the_tenants_that_is_named(plain: PlainRQ) -> None:
    acme = Tenant.objects.get(slug="acme")
    plain.enqueue(EXPLODE, "x")
    plain.work()

    plain.take_over(tenant=acme)

    assert DeadLetter.objects.get().tenant == acme


def test_the_audit_says_who_took_how_many_over(plain: PlainRQ) -> None:
    plain.enqueue(EXPLODE, "x")
    plain.enqueue(EXPLODE, "y")
    plain.work()

    plain.take_over()

    entry = AuditEntry.objects.get(action="source.import")
    assert (entry.actor, entry.target_id, entry.after) == (
        "command:tester", "old", {"letters": 2, "queues": ["default"]}
    )  # fmt: skip


def test_a_job_that_fails_anew_between_reading_and_removing_stays(plain: PlainRQ) -> None:
    job = plain.enqueue(EXPLODE, "x")
    plain.work()
    before = plain.commands.take

    def fail_anew(queue: str, failures: object) -> int:
        plain.redis.hset(job.key, "ended_at", "2026-01-01T00:00:00.000000Z")
        return before(queue, failures)

    commands = plain.commands
    with patch.object(commands, "take", fail_anew):
        report = importing.take_over(commands, Wish(source=plain.source, by="command:tester"))

    assert (report.imported, report.removed) == (1, 0)
    assert plain.failed() == [job.id]


def test_a_job_requeued_at_home_that_fails_again_keeps_its_letter(plain: PlainRQ) -> None:
    job = plain.enqueue(EXPLODE, "x")
    plain.work()
    plain.take_over(leave=True)
    first = DeadLetter.objects.get()
    job.requeue()
    plain.work()

    report = plain.take_over(leave=True)

    letter = DeadLetter.objects.get()
    assert (report.imported, report.again) == (0, 1)
    assert (letter.state, letter.dead_at, letter.due_at) == ("open", first.dead_at, first.due_at)
    assert letter.last_died_at > first.dead_at
    assert letter.group.deaths == 2
    assert plain.take_over(leave=True).again == 0
    assert list(differences()) == []


def test_one_whose_letter_is_drained_gets_another_letter(plain: PlainRQ) -> None:
    job = plain.enqueue(EXPLODE, "x")
    plain.work()
    plain.take_over(leave=True)
    DeadLetter.objects.update(state="discarded", drained_at=timezone.now(), discard_reason="by hand")
    job.requeue()
    plain.work()

    plain.take_over()

    assert list(DeadLetter.objects.order_by("attempt").values_list("attempt", "state")) == [
        (1, "discarded"), (2, "open")
    ]  # fmt: skip


@pytest.mark.slow
def test_a_registry_of_five_thousand(plain: PlainRQ) -> None:
    job = plain.enqueue(EXPLODE, "x")
    plain.work()
    plain.copies(job, 4999)

    report = plain.take_over()

    assert (report.imported, report.removed) == (5000, 5000)
    assert DeadLetterGroup.objects.get().open == DeadLetter.objects.count() == 5000
    assert plain.redis.zcard("rq:failed:default") == 0


def test_the_engine_of_ours_is_not_touched(plain: PlainRQ, both: Engine) -> None:
    before = both.redis.dbsize()
    plain.enqueue(EXPLODE, "x")
    plain.work()
    plain.take_over()

    assert both.redis.dbsize() == before
