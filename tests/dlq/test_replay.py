"""Sending a letter back to run: one job, of today's contract, on commit; or a refusal that changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from dlq.errors import NotReplayable, WrongState
from dlq.models import DeadLetter, ReplayRun
from dlq.ports import set_key_holders
from dlq.replaying import KEY_IS_HELD, number_of, replay_id
from dlq.services import letter_replay, replay_batch
from jobops.audit.models import AuditEntry
from jobops.context.models import OutboxEntry
from jobops.contracts.decorator import job
from jobops.contracts.registry import temporary_registry
from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.payload import decode
from tenants.models import Tenant
from tests.dlq.replays import TYPE, dead, replaying, run_replays
from tests.runtime import factory
from tests.runtime.together import at_once
from tests.tenants.people import person

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_replay_is_one_job_by_todays_contract(both: Engine) -> None:
    letter, who = dead(both, key="invoice:7"), person()
    run = letter_replay(letter_id=letter.pk, by=who)
    job = read_job(both, run.job_id)
    assert job is not None
    assert (job.state, job.queue, job.job_type, job.key) == ("queued", "acme.bulk", TYPE, "invoice:7")
    assert (job.max_attempts, job.correlation_id) == (2, "c-1")
    assert decode(job.data) == (TYPE, (), {"number": 7, "card": "4242-4242"}), "the real arguments, not the masked ones"
    letter.refresh_from_db()
    assert (letter.state, letter.replays, letter.replay_job_id) == ("replaying", 1, run.job_id)
    assert (run.number, run.state, run.by) == (1, "running", who.get_username())
    assert run.job_id == f"{letter.job_id}-1-r1"
    row = AuditEntry.objects.get(action="letter.replay")
    assert (row.actor, row.target_id, row.tenant_slug) == (who.get_username(), str(letter.pk), "acme")
    assert (row.before, row.after) == ({"state": "open"}, {"state": "replaying", "job": run.job_id})
    assert "4242" not in str(row.after)


def test_a_second_press_is_refused(both: Engine) -> None:
    """DL-05: while the first one is under way, from a second session too."""
    letter = replaying(both)
    with pytest.raises(WrongState, match="already being replayed"):
        letter_replay(letter_id=letter.pk, by="another")
    assert (ReplayRun.objects.count(), len(factory.waiting(both, "acme.bulk"))) == (1, 1)
    with pytest.raises(DeadLetter.DoesNotExist):
        letter_replay(letter_id=10**6, by="tests")


def test_many_at_once_make_one_run(both: Engine) -> None:
    """I8"""
    letter = dead(both)
    answers: list[object] = []

    def press() -> None:
        try:
            answers.append(letter_replay(letter_id=letter.pk, by="tests"))
        except WrongState as error:
            answers.append(error)

    at_once(press, 6)
    assert sorted(type(answer).__name__ for answer in answers) == ["ReplayRun"] + ["WrongState"] * 5
    assert (ReplayRun.objects.count(), len(factory.waiting(both, "acme.bulk"))) == (1, 1)
    assert AuditEntry.objects.filter(action="letter.replay").count() == 1


def test_what_is_rolled_back_never_happened(both: Engine) -> None:
    """OB-02: the job, the state and the audit go with the transaction."""
    letter = dead(both)
    with transaction.atomic():
        letter_replay(letter_id=letter.pk, by="tests")
        transaction.set_rollback(True)
    letter.refresh_from_db()
    assert (letter.state, letter.replays) == ("open", 0)
    assert not ReplayRun.objects.exists()
    assert not AuditEntry.objects.filter(action="letter.replay").exists()
    assert not OutboxEntry.objects.exists()
    assert factory.waiting(both, "acme.bulk") == []


def test_a_key_that_a_live_job_holds_refuses_the_replay(both: Engine) -> None:
    """DL-15: a clear refusal; the letter is as it was; in a batch of ten the other nine go through."""
    letters = [dead(both, key="k"), *(dead(both, key=f"k{number}") for number in range(9))]
    both.scripts.enqueue(factory.new_job(lane="bulk", job_type=TYPE, key="k"))
    with pytest.raises(NotReplayable, match="a live job holds its key"):
        letter_replay(letter_id=letters[0].pk, by="tests")
    assert DeadLetter.objects.filter(state="open").count() == 10
    with transaction.atomic():
        answer = replay_batch(letters, "tests")
    assert answer == {letters[0].pk: KEY_IS_HELD} | {letter.pk: "" for letter in letters[1:]}
    assert DeadLetter.objects.get(state="open") == letters[0]


def test_of_two_letters_with_one_key_a_batch_takes_one(both: Engine) -> None:
    first, second = dead(both, key="k"), dead(both, key="k")
    with transaction.atomic():
        answer = replay_batch([first, second], "tests")
    assert answer == {first.pk: "", second.pk: KEY_IS_HELD}


def test_while_redis_is_away_no_key_refuses_a_replay(both: Engine) -> None:
    from redis.exceptions import ConnectionError as Away

    def away(wanted: Any) -> Any:
        raise Away("no route")

    letter = dead(both, key="k")
    set_key_holders(away)
    assert letter_replay(letter_id=letter.pk, by="tests").number == 1


def refused(letter: DeadLetter) -> str:
    with pytest.raises(NotReplayable) as refusal:
        letter_replay(letter_id=letter.pk, by="tests")
    letter.refresh_from_db()
    assert (letter.state, letter.replays) == ("open", 0)
    assert not ReplayRun.objects.exists()
    return refusal.value.why


def test_a_type_that_is_gone_replays_once_its_name_or_an_alias_is_back(both: Engine) -> None:
    """PX-02"""
    letter = dead(both, job_type="tests.former")
    with temporary_registry():
        assert "tests.former is not registered" in refused(letter)
    run = letter_replay(letter_id=letter.pk, by="tests")
    job = read_job(both, run.job_id)
    assert job is not None
    assert job.job_type == TYPE


def test_what_cannot_be_made_again_is_refused_with_the_reason(both: Engine) -> None:
    letter = dead(both)
    DeadLetter.objects.filter(pk=letter.pk).update(payload='{"args": [], "kwargs": {"colour": "red"}}')
    assert "unexpected keyword argument 'colour'" in refused(letter)
    DeadLetter.objects.filter(pk=letter.pk).update(payload="", payload_raw=b"\x80\x04")
    assert "cannot be read" in refused(letter)
    Tenant.objects.filter(slug="acme").update(intake_closed=True)
    DeadLetter.objects.filter(pk=letter.pk).update(payload='{"args": [], "kwargs": {}}')
    assert "intake is closed" in refused(letter)
    Tenant.objects.filter(slug="acme").update(intake_closed=False)
    DeadLetter.objects.filter(pk=letter.pk).update(tenant=None)
    assert refused(letter) == "its tenant was deleted"


def test_a_lane_that_is_no_longer_configured_gives_way_to_the_contracts(both: Engine) -> None:
    letter = dead(both)
    DeadLetter.objects.filter(pk=letter.pk).update(lane="former")
    job = read_job(both, letter_replay(letter_id=letter.pk, by="tests").job_id)
    assert job is not None
    assert job.lane == "bulk"


def test_the_id_is_the_same_each_time_and_fits_whatever_the_job_was_called() -> None:
    assert replay_id("abc", 3, 2) == "abc-3-r2" == replay_id("abc", 3, 2)
    for odd in ("x" * 200, "a:b", "ä", "~"):
        made = replay_id(odd, 1, 2)
        assert len(made) <= 100
        assert made == replay_id(odd, 1, 2) != replay_id(odd, 1, 3)
        assert made.isascii()
        assert number_of(made) == 2
    assert [number_of(text) for text in ("abc", "abc-rx", "-r0", "abc-r", "")] == [0] * 5


def test_a_batch_costs_as_many_queries_for_thirty_as_for_five(both: Engine) -> None:
    letters = [dead(both, key=f"k{number}") for number in range(35)]
    counts = []
    for some in (letters[:5], letters[5:]):
        some = [DeadLetter.objects.get(pk=letter.pk) for letter in some]
        with transaction.atomic(), CaptureQueriesContext(connection) as seen:
            assert set(replay_batch(some, "tests").values()) == {""}
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_a_replay_is_kept_as_long_as_its_contract_says(both: Engine) -> None:
    keeping = job(
        name="tests.keeping", owner="billing", drain_sla="4h", idempotent="yes", lane="bulk", timeout="7s",
        result_ttl="3d", dedup_window="4d",
    )  # fmt: skip
    keeping(lambda number=0, card="": number)
    letter = dead(both, job_type="tests.keeping")
    letter_replay(letter_id=letter.pk, by="tests")
    (ran,) = run_replays(both)
    assert 3 * 86_400 < both.redis.ttl(f"rq:job:{ran}") <= 4 * 86_400, "and at least as long as its key stands for it"
