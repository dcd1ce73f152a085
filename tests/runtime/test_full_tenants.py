"""A tenant at its depth limit: refused with a hint, kept outside in order, or its older job gives way."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from jobops.context import relay, relay_answers
from jobops.context.models import OutboxEntry, OutboxHold
from jobops.contracts.calls import Call
from jobops.contracts.decorator import job
from jobops.contracts.job_type import JobType
from jobops.engine.client import Engine
from jobops.engine.errors import DepthExceeded, EnqueueRefused, InvalidJob, OutboxUnavailable
from jobops.engine.records import Enqueued, NewJob
from jobops.engine.scripts import Scripts
from jobops.runtime import enqueuer, lookup
from jobops.runtime.enqueuer import pusher
from jobops.runtime.spilling import Spillway
from tenants import services
from tenants.models import Tenant
from tests.runtime.factory import echo, new_job, run_all, tenant, waiting

pytestmark = pytest.mark.django_db(transaction=True)


@job(name="tests.spills", owner="tests", drain_sla="1h", idempotent="does nothing", lane="interactive", on_full="spill")
def spills(value: object = None) -> object:
    return value


@job(
    name="tests.drops", owner="tests", drain_sla="1h", idempotent="does nothing", lane="interactive",
    on_full="drop_oldest",
)  # fmt: skip
def drops(value: object = None) -> object:
    return value


def using(job_type: JobType, **options: object) -> Call[...]:
    return job_type.using(tenant="acme", **options)  # type: ignore[arg-type, return-value]


def words(answers: Sequence[object]) -> list[str]:
    """How each job was answered."""
    return [getattr(answer, "state", type(answer).__name__) for answer in answers]


@pytest.fixture
def full(both: Engine) -> Engine:
    """Two jobs of acme wait, and its limit is two."""
    services.tenant_set(tenant=Tenant.objects.get(), by="tests", depth_limit=2)
    for _ in range(2):
        echo.using(tenant="acme").enqueue()
    return both


def relay_once() -> None:
    """Time passes for the rows and the holds; the relay runs once."""
    past = timezone.now() - timedelta(seconds=1)
    OutboxEntry.objects.filter(state="waiting").update(next_try_at=past)
    OutboxHold.objects.update(until=past)
    relay.relay(pusher())


def test_a_refusal_says_when_to_try_again(full: Engine) -> None:
    minute = full.scripts.now_ms() // 60_000
    full.redis.hset(full.keys.minute(minute, "tenant"), "acme|starts", 10)
    with pytest.raises(DepthExceeded, match=r"2 jobs waiting and its depth limit is 2; try again in about 1\d s") as it:
        echo.using(tenant="acme").enqueue()
    assert 12 <= it.value.retry_after_s <= 18
    assert not OutboxEntry.objects.exists()


# -- spill -------------------------------------------------------------------------------------------------------------


def test_a_job_that_spills_waits_in_the_outbox_and_comes_when_there_is_room(full: Engine) -> None:
    before = waiting(full)
    handles = [using(spills).enqueue(n) for n in range(3)]
    assert [(handle.state, handle.status()) for handle in handles] == [("outbox", "outbox")] * 3
    assert OutboxEntry.objects.filter(first_pushed_at=None, on_full="spill").count() == 3
    relay_once()
    assert waiting(full) == before
    run_all(full)
    relay_once()
    assert waiting(full) == [handle.id for handle in handles[:2]]
    run_all(full)
    relay_once()
    assert run_all(full) == [handles[2].id]
    assert not OutboxEntry.objects.exists()
    assert not OutboxHold.objects.exists()


@pytest.mark.parametrize("other_process", [False, True])
def test_a_later_one_does_not_pass_those_that_wait(full: Engine, other_process: bool) -> None:
    first = using(spills).enqueue(1)
    run_all(full)
    if other_process:
        enqueuer()._spillway = Spillway()
    second = using(spills).enqueue(2)
    assert (second.state, waiting(full)) == ("outbox", [])
    relay_once()
    assert waiting(full) == [first.id, second.id]
    enqueuer()._spillway = Spillway()
    run_all(full)
    assert using(spills).enqueue(3).state == "queued", "nobody waits any more"


def test_the_line_is_kept_until_the_last_row_has_left(full: Engine) -> None:
    rows = [using(spills).enqueue(n).id for n in range(4)]
    services.tenant_set(tenant=Tenant.objects.get(), by="tests", depth_limit=None)
    past = timezone.now() - timedelta(seconds=1)
    OutboxEntry.objects.update(next_try_at=past)
    OutboxHold.objects.update(until=past)
    relay.relay(pusher(), limit=2)
    hold = OutboxHold.objects.get()
    assert hold.until > past, "it is not forgotten while rows are on their way"
    enqueuer()._spillway = Spillway()
    later = using(spills).enqueue(9)
    assert later.state == "outbox"
    while OutboxEntry.objects.exists():
        relay_once()
    assert waiting(full)[2:] == [*rows, later.id]


def test_another_tenants_jobs_and_those_that_do_not_spill_are_not_held_up(full: Engine) -> None:
    tenant("beta")
    using(spills).enqueue(1)
    assert spills.using(tenant="beta").enqueue(1).state == "queued"
    run_all(full)
    assert echo.using(tenant="acme").enqueue().state == "queued"


def test_many_at_once_are_answered_each_in_its_place(full: Engine) -> None:
    run_all(full)
    jobs = [new_job(on_full=how) for how in ("spill", "refuse", "spill", "refuse", "spill")]
    answers = enqueuer().enqueue_many(jobs)
    assert words(answers) == ["queued", "queued", "outbox", "DepthExceeded", "outbox"]
    assert [getattr(answers[place], "id", "") for place in (0, 2, 4)] == [jobs[place].id for place in (0, 2, 4)]
    again = enqueuer().enqueue_many([new_job(on_full=how) for how in ("spill", "refuse", "spill")])
    assert [getattr(answer, "state", type(answer).__name__) for answer in again] == [
        "outbox",
        "DepthExceeded",
        "outbox",
    ]


def test_a_flood_that_spills_asks_redis_once_and_not_for_each(full: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = type(full.scripts).enqueue_many

    def ask(self: Scripts, jobs: Sequence[NewJob], *, checked: bool) -> list[Enqueued | EnqueueRefused]:
        asked.extend(job.id for job in jobs)
        return real(self, jobs, checked=checked)

    monkeypatch.setattr(type(full.scripts), "enqueue_many", ask)
    for n in range(20):
        using(spills).enqueue(n)
    assert len(asked) == 1
    assert OutboxHold.objects.get().refusals == 1


def test_without_a_database_a_spill_is_the_refusal_it_would_have_been(
    full: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobops.context import outbox

    def away(*args: object, **kwargs: object) -> None:
        raise OperationalError("the database is away")

    monkeypatch.setattr(outbox, "write", away)
    with pytest.raises(DepthExceeded) as raised:
        using(spills).enqueue(1)
    assert isinstance(raised.value.__cause__, OperationalError)
    monkeypatch.undo()
    using(spills).enqueue(1)
    monkeypatch.setattr(outbox, "write", away)
    with pytest.raises(OutboxUnavailable, match="older jobs of the tenant wait there"):
        using(spills).enqueue(2)


def test_a_spill_that_cannot_be_held_leaves_no_row(full: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from jobops.context import holds

    def away(*args: object) -> None:
        raise OperationalError("the database is away")

    monkeypatch.setattr(holds, "begin", away)
    with pytest.raises(DepthExceeded):
        using(spills).enqueue(1)
    assert not OutboxEntry.objects.exists()


def test_with_the_database_away_and_room_in_the_queue_a_job_that_may_spill_goes_in(
    both: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobops.context import holds

    def away(slug: str) -> bool:
        raise OperationalError("the database is away")

    monkeypatch.setattr(holds, "held_among", away)
    assert using(spills).enqueue(1).state == "queued"


# -- drop the oldest, and rows of a transaction ------------------------------------------------------------------------


@pytest.mark.parametrize("within", [False, True])
def test_the_waiting_job_of_the_key_gives_way(full: Engine, within: bool) -> None:
    run_all(full)
    old = using(drops, key="k").enqueue(1)
    echo.using(tenant="acme").enqueue()
    if within:
        with transaction.atomic():
            new = using(drops, key="k").enqueue(2)
    else:
        new = using(drops, key="k").enqueue(2)
    assert new.status() == "queued"
    found = lookup(old.id)
    assert found is not None
    assert (found.state, found.error_class) == ("cancelled", "Dropped")
    assert new.id in found.error
    assert len(waiting(full)) == 2


def test_dropping_without_a_key_is_refused_at_the_call_also_in_a_transaction(both: Engine) -> None:
    with pytest.raises(InvalidJob, match=r"^key: is missing; with on_full drop_oldest"):
        using(drops).enqueue(1)
    with transaction.atomic(), pytest.raises(InvalidJob, match=r"^key"):
        using(drops).enqueue(1)
    assert not OutboxEntry.objects.exists()


@pytest.mark.parametrize("how", ["refuse", "spill", "drop_oldest"])
def test_what_was_committed_waits_for_room_whatever_its_contract_says(full: Engine, how: str) -> None:
    with transaction.atomic():
        enqueuer().enqueue_many([new_job(on_full=how, key="k")])
    row = OutboxEntry.objects.get()
    assert (row.state, row.last_error.partition(":")[0], row.first_pushed_at) == ("waiting", "DepthExceeded", None)
    for _ in range(relay_answers.PARK_AFTER + 1):
        relay_once()
    assert OutboxEntry.objects.get().state == "waiting", "it is never given up"
    run_all(full)
    relay_once()
    assert waiting(full) == [row.pk]
