"""Limits: what contracts declare and operators change reaches Redis, and who corrects what."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta

import pytest

from jobops.contracts import discovery, registry
from jobops.contracts.discovery import ImportFault
from jobops.engine.client import Engine
from jobops.engine.gates import GateView, read_gates
from jobops.engine.rates import parse_rate
from jobops.engine.records import Outcome
from jobops.limits import services
from jobops.limits.drift import drifts
from jobops.limits.errors import InvalidLimit, NotBraked, NotChanged
from jobops.limits.models import LimitChange
from jobops.limits.targets import Target
from jobops.runtime import enqueuer
from jobops.scheduling.duties import Context
from jobops.steward.limits import Limits
from tests.contracts.catalogs import declare
from tests.runtime.conftest import Outage
from tests.runtime.factory import claim, new_job, settle
from tests.runtime.together import twice_at_once

pytestmark = pytest.mark.django_db(transaction=True)

STRIPE = Target("resource", "stripe")


@pytest.fixture(autouse=True)
def contracts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(discovery, "_faults", ())
    with registry.temporary_registry():
        declare(name="pay", resource="stripe", concurrency=2, rate="50/s")
        declare(name="own", concurrency=1)
        yield


def gate(engine: Engine, name: str = "stripe") -> GateView:
    return read_gates(engine, [name])[0]


def limit(engine: Engine, name: str = "stripe") -> tuple[int | None, str, bool]:
    view = gate(engine, name)
    return view.concurrency, str(view.rate or ""), view.known


def run_duty(engine: Engine) -> int:
    return Limits().run(Context(engine))


def enqueue(**fields: str) -> str:
    return enqueuer().enqueue(new_job(**{"job_type": "pay", "resource": "stripe", **fields})).id


def started(engine: Engine, at_most: int = 9) -> int:
    count = 0
    while count < at_most and claim(engine) is not None:
        count += 1
    return count


def test_declared_limits_hold_from_the_first_claim_on(both: Engine) -> None:
    """CC-03; and CC-06 for a job type's own limit."""
    for _ in range(4):
        enqueue()
        enqueue(job_type="own", resource="")
    both.redis.flushdb()
    for _ in range(4):
        enqueue()  # it brings the tenant back, and the limits before it
        enqueue(job_type="own", resource="")
    assert started(both) == 3
    assert limit(both) == (2, "50/s", True)
    assert limit(both, "type:own") == (1, "", True)


def test_a_worker_sets_what_is_not_known_and_corrects_nothing(both: Engine) -> None:
    both.prepare()
    assert limit(both) == (2, "50/s", True)
    both.scripts.set_limit("stripe", 7, None)
    both.prepare()
    assert limit(both) == (7, "", True)
    assert run_duty(both) == 1
    assert limit(both) == (2, "50/s", True)


def test_an_old_worker_and_a_new_scheduler_do_not_fight(both: Engine) -> None:
    run_duty(both)
    with registry.temporary_registry():
        declare(name="pay", resource="stripe", concurrency=9)
        both.prepare()
    assert [run_duty(both) for _ in range(3)] == [0, 0, 0]
    assert limit(both) == (2, "50/s", True)


def test_what_newer_code_declares_is_left_alone_by_an_old_scheduler(both: Engine) -> None:
    both.scripts.set_limit("newest", 3, None)
    both.scripts.set_limit("type:newest", 1, None)
    run_duty(both)
    assert limit(both, "newest") == (3, "", True)
    assert limit(both, "type:newest") == (1, "", True)


def test_a_job_type_that_limits_itself_no_more_is_free(both: Engine) -> None:
    both.prepare()
    with registry.temporary_registry():
        declare(name="own")
        assert run_duty(both) == 1
        assert limit(both, "type:own") == (None, "", False)
        assert run_duty(both) == 0


def test_jobs_of_a_resource_that_no_contract_names_any_more_go_on_with_a_warning(
    both: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    both.scripts.drop_limit("stripe")
    enqueue(resource="former")
    assert claim(both) is None
    assert gate(both, "former").waiting == 1
    with caplog.at_level(logging.WARNING, "jobops.steward"):
        assert run_duty(both) == 2  # first what is declared
    assert [record.message for record in caplog.records if record.levelno == logging.WARNING] == [
        "1 job waits for resource former, which no contract declares any more; made known without a limit"
    ]
    assert claim(both) is not None
    assert run_duty(both) == 0


def test_they_wait_while_a_module_of_job_types_cannot_be_imported(
    both: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "_faults", (ImportFault("shop.jobs", "SyntaxError", "no", ""),))
    enqueue(resource="former")
    claim(both)
    run_duty(both)
    assert claim(both) is None
    assert not gate(both, "former").known


def test_a_change_holds_in_place_of_what_is_declared_also_after_a_flush(outage: Outage) -> None:
    engine = outage.engine
    services.limit_set(target=STRIPE, by="anna", reason="they asked us to", concurrency=1)
    assert limit(engine) == (1, "50/s", True)
    engine.redis.flushall()
    for _ in range(4):
        enqueue()
    assert started(engine) == 1
    services.limit_set(target=STRIPE, by="anna", reason="better now", rate=None)
    assert limit(engine) == (1, "", True)
    services.limit_reset(target=STRIPE, by="anna")
    assert limit(engine) == (2, "50/s", True)
    with pytest.raises(NotChanged, match="there is nothing to reset"):
        services.limit_reset(target=STRIPE, by="anna")


def test_a_change_that_is_reset_where_no_contract_declares_anything_leaves_no_limit(both: Engine) -> None:
    other = Target("resource", "other")
    services.limit_set(target=other, by="anna", reason="x", concurrency=1)
    assert services.limit_reset(target=other, by="anna").in_force
    assert limit(both, "other") == (None, "", True)


def test_with_redis_away_a_change_waits_for_the_duty(outage: Outage) -> None:
    outage.begin()
    change = services.limit_set(target=STRIPE, by="anna", reason="x", concurrency=1, rate="2/3s")
    assert not change.in_force
    outage.end()
    run_duty(outage.engine)
    assert limit(outage.engine) == (1, "2/3s", True)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"concurrency": 0}, "concurrency: 0 must be a whole number from 1 to 100,000, or none"),
        ({"concurrency": True}, "concurrency: True must be"),
        ({"rate": "fast"}, "rate: 'fast' is no rate; write it as"),
        ({"rate": "5/9d"}, "rate: '5/9d' is out of bounds"),
        ({}, "give a concurrency, a rate or both"),
        ({"concurrency": 1, "reason": " "}, "reason: say why"),
        ({"concurrency": 1, "reason": "a\nb"}, "reason: must be one line"),
    ],
)
def test_a_bad_value_is_one_clear_error_and_changes_nothing(both: Engine, fields: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidLimit, match=says):
        services.limit_set(**{"target": STRIPE, "by": "anna", "reason": "x", **fields})  # type: ignore[arg-type]
    assert not LimitChange.objects.exists()


def test_a_row_written_past_the_services_stops_no_other(both: Engine) -> None:
    LimitChange.objects.create(resource="NO GATE", concurrency=1, changed_by="x")
    LimitChange.objects.create(resource="stripe", concurrency=5, rate="nonsense", changed_by="x")
    run_duty(both)
    assert limit(both) == (5, "", True)
    assert limit(both, "type:own") == (1, "", True)


def test_two_duties_at_once_are_as_right_as_one(both: Engine) -> None:
    """Trap 7"""
    services.pause(target=STRIPE, by="anna")
    both.redis.delete(both.keys.resource("stripe"))
    twice_at_once(lambda: run_duty(both))
    assert drifts(both) == []
    assert gate(both).paused


def test_a_brake_is_released_and_what_waits_goes_on(both: Engine) -> None:
    both.prepare()
    enqueue()
    enqueue()
    first = claim(both)
    assert first is not None
    settle(
        both, first, Outcome.postponed(int(timedelta(hours=1).total_seconds() * 1000), "RetryLater", "429", brake=True)
    )
    assert gate(both).brake_by == first.id
    assert claim(both) is None
    services.brake_release(target=STRIPE, by="anna")
    assert claim(both) is not None
    with pytest.raises(NotBraked, match="no brake is on at resource stripe"):
        services.brake_release(target=STRIPE, by="anna")


def test_contracts_that_contradict_each_other_are_held_to_the_tighter_limit(both: Engine) -> None:
    declare(name="also", resource="stripe", concurrency=1, rate="100/s")
    run_duty(both)
    assert limit(both) == (1, "50/s", True)
    assert parse_rate("50/s").per_second < parse_rate("100/s").per_second
