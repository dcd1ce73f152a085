"""Enqueueing: everything that can be wrong is refused where the job is enqueued, by name."""

from __future__ import annotations

import inspect
import itertools
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from jobops import InvalidJob, PayloadTooLarge, UnknownTenant, Unserializable, job
from jobops.contracts import config, enqueuer, registry
from jobops.contracts.errors import NotInstalled
from jobops.contracts.handles import Handle
from jobops.contracts.running import RunningJob, running
from tests.contracts.conftest import Recorder
from tests.contracts.samples import GOOD


@pytest.fixture
def send(recorder: Recorder) -> Any:
    @job(**GOOD, name="mail.send", max_attempts=3, lease="45s")
    def send(to: str, subject: str = "hello", *, urgent: bool = False) -> None: ...

    return send


def test_a_call_carries_the_contract_and_its_options(send: Any, recorder: Recorder) -> None:
    handle = send.using(tenant="acme", key="invoice:42", lane="bulk", correlation_id="c-1").enqueue(to="a@b")
    new = recorder.job
    assert (handle.id, handle.state) == (new.id, "queued")
    assert (new.tenant, new.key, new.lane, new.correlation_id) == ("acme", "invoice:42", "bulk", "c-1")
    assert (new.job_type, new.max_attempts, new.timeout_ms, new.lease_ms) == ("mail.send", 3, 30_000, 45_000)
    assert (new.delay_ms, new.due_at_ms, new.front) == (0, 0, False)


def test_without_options_the_first_lane_and_the_configured_lease_are_used(recorder: Recorder) -> None:
    @job(**GOOD)
    def plain() -> None: ...

    config.configure(config.ContractConfig(lanes=("fast", "slow"), lease=timedelta(seconds=12)))
    plain.using(tenant="acme").enqueue()
    assert (recorder.job.lane, recorder.job.lease_ms) == ("fast", 12_000)
    assert recorder.job.correlation_id == recorder.job.id


def test_arguments_travel_by_name_however_they_are_given(send: Any, recorder: Recorder) -> None:
    send.using(tenant="acme").enqueue("a@b", "hi", urgent=True)
    assert recorder.arguments == ((), {"to": "a@b", "subject": "hi", "urgent": True})


def one(a: int, b: int = 2, *, c: int, d: int = 4) -> None: ...
def bare() -> None: ...
def placed(a: int, /, b: int = 2) -> None: ...
def rest(a: int, *b: int, **c: int) -> None: ...


@pytest.mark.parametrize("func", [one, bare, placed, rest])
def test_arguments_are_bound_as_python_binds_them(func: Any, recorder: Recorder) -> None:
    bound = job(**GOOD, name=f"bound.{func.__name__}")(func)
    signature = inspect.signature(func)
    for count, names in itertools.product(
        range(4), itertools.chain(*(itertools.combinations("abcd", n) for n in range(5)))
    ):
        args, kwargs = tuple(range(count)), {name: ord(name) for name in reversed(names)}
        try:
            right = signature.bind(*args, **kwargs)
        except TypeError as error:
            with pytest.raises(InvalidJob, match=re.escape(str(error))):
                bound.using(tenant="acme").enqueue(*args, **kwargs)
            continue
        bound.using(tenant="acme").enqueue(*args, **kwargs)
        got_args, got_kwargs = recorder.arguments
        again = signature.bind(*got_args, **got_kwargs)
        assert again.arguments == right.arguments
        assert list(again.arguments) == list(right.arguments)


def test_arguments_that_have_no_name_travel_in_their_place(recorder: Recorder) -> None:
    @job(**GOOD)
    def add(first: int, /, second: int, *rest: int, **named: int) -> None: ...

    add.using(tenant="acme").enqueue(1, 2, 3, 4, five=5)
    assert recorder.arguments == ((1, 2, 3, 4), {"five": 5})


def test_typed_values_arrive_as_they_were(send: Any, recorder: Recorder) -> None:
    at, uuid = datetime(2024, 2, 29, 12, tzinfo=UTC), UUID(int=7)
    send.using(tenant="acme").enqueue(to=at, subject=[Decimal("1.10"), {"id": uuid}])
    assert recorder.arguments[1] == {"to": at, "subject": [Decimal("1.10"), {"id": uuid}]}


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing a required argument: 'to'"),
        ((), {"to": "a", "from_": "b"}, "unexpected keyword argument 'from_'"),
        (("a",), {"to": "b"}, "multiple values for argument 'to'"),
        (("a", "b", "c"), {}, "too many positional arguments"),
    ],
)
def test_arguments_that_do_not_fit_the_function_are_refused(
    send: Any, recorder: Recorder, args: Any, kwargs: Any, message: str
) -> None:
    with pytest.raises(InvalidJob, match=rf"{message}.*mail.send takes \(to: ") as refused:
        send.using(tenant="acme").enqueue(*args, **kwargs)
    assert refused.value.field == "arguments"
    assert recorder.jobs == []


@pytest.mark.parametrize(
    "value", [{1, 2}, b"x", (1, 2), object(), float("nan"), {"a": {3: 4}}, "\ud800", [1, [2, {"deep": b""}]]]
)
def test_what_json_cannot_carry_is_refused_by_the_arguments_name(send: Any, recorder: Recorder, value: Any) -> None:
    for args, kwargs in (((value,), {}), ((), {"to": value})):
        with pytest.raises(Unserializable) as refused:
            send.using(tenant="acme").enqueue(*args, **kwargs)
        assert refused.value.field.startswith("to")
    assert recorder.jobs == []


def test_a_nameless_argument_is_refused_by_its_place(recorder: Recorder) -> None:
    @job(**GOOD)
    def add(*numbers: Any) -> None: ...

    with pytest.raises(Unserializable, match=r"^numbers\[1\]: "):
        add.using(tenant="acme").enqueue(1, b"2")


def test_a_payload_over_the_limit_is_refused(send: Any, recorder: Recorder) -> None:
    with pytest.raises(PayloadTooLarge):
        send.using(tenant="acme").enqueue(to="x" * 300_000)
    config.configure(config.ContractConfig(payload_limit=100))
    with pytest.raises(PayloadTooLarge, match="the limit is 100"):
        send.using(tenant="acme").enqueue(to="x" * 100)
    assert recorder.jobs == []


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("tenant", "ACME"), ("tenant", ""), ("tenant", "a.b"), ("tenant", None), ("tenant", "x" * 51),
        ("key", ""), ("key", 42), ("key", "x" * 201), ("key", "a\x00b"),
        ("correlation_id", ""), ("correlation_id", "a\nb"),
        ("lane", "express"), ("lane", ""), ("lane", 1),
        ("priority", "high"), ("priority", 1), ("priority", True),
        ("run_after", "10s"), ("run_after", 10), ("run_after", timedelta(seconds=-1)), ("run_after", timedelta.max),
        ("run_after", datetime(2030, 1, 1)), ("run_after", datetime.max.replace(tzinfo=UTC)),  # noqa: DTZ001
    ],
)  # fmt: skip
def test_an_option_that_cannot_be_used_is_refused_by_its_name(send: Any, option: str, value: Any) -> None:
    with pytest.raises(InvalidJob) as refused:
        send.using(**{"tenant": "acme", option: value})
    assert refused.value.field == option


def test_a_contract_with_an_unknown_lane_is_refused_at_enqueue(recorder: Recorder) -> None:
    @job(**GOOD, lane="express")
    def fast() -> None: ...

    with pytest.raises(InvalidJob, match=r"lane: 'express' \(from the contract of .*the lanes are interactive, bulk"):
        fast.using(tenant="acme")


def test_later_is_a_delay_or_a_moment(send: Any, recorder: Recorder) -> None:
    handle = send.using(tenant="acme", run_after=timedelta(minutes=1)).enqueue("a")
    assert (recorder.job.delay_ms, recorder.job.due_at_ms, handle.state) == (60_000, 0, "scheduled")
    at = datetime(2030, 1, 1, tzinfo=UTC)
    send.using(tenant="acme", run_after=at).enqueue("a")
    assert (recorder.job.delay_ms, recorder.job.due_at_ms) == (0, int(at.timestamp() * 1000))


def test_front_of_the_queue(send: Any, recorder: Recorder) -> None:
    send.using(tenant="acme", priority="front").enqueue("a")
    assert recorder.job.front


def test_a_job_that_is_enqueued_within_a_job_belongs_to_the_same_chain(send: Any, recorder: Recorder) -> None:
    call = send.using(tenant="acme")
    with running(RunningJob("parent", "acme", "bulk", "x", 1, 5, "chain-7")):
        call.enqueue("a")
        assert recorder.job.correlation_id == "chain-7"
        send.using(tenant="acme", correlation_id="own").enqueue("a")
        assert recorder.job.correlation_id == "own"
    call.enqueue("a")
    assert recorder.job.correlation_id == recorder.job.id


def test_what_a_job_enqueues_for_its_own_tenant_is_of_its_own_tenant(send: Any, recorder: Recorder) -> None:
    """Its tenant may be deleted while it runs, and the slug be another customer's."""
    with running(RunningJob("parent", "acme", "bulk", "x", 1, 5, "chain-7", tenant_uid="1")):
        send.using(tenant="acme").enqueue("a")
        assert recorder.job.tenant_uid == "1"
        send.using(tenant="other").enqueue("a")
        assert recorder.job.tenant_uid == ""
    send.using(tenant="acme").enqueue("a")
    assert recorder.job.tenant_uid == ""


def test_a_call_may_be_kept_and_makes_a_new_job_each_time(send: Any, recorder: Recorder) -> None:
    call = send.using(tenant="acme")
    assert call.enqueue("a").id != call.enqueue("a").id


def test_a_refusal_of_the_engine_reaches_the_caller(send: Any, recorder: Recorder) -> None:
    recorder.refusals.append(UnknownTenant("nobody"))
    with pytest.raises(UnknownTenant):
        send.using(tenant="nobody").enqueue("a")


def test_many_are_enqueued_in_one_go_and_answered_in_order(send: Any, recorder: Recorder) -> None:
    recorder.refusals.append(UnknownTenant("acme"))
    refused, first, second = send.using(tenant="acme").enqueue_many({"to": name} for name in "abc")
    assert isinstance(refused, UnknownTenant)
    assert [first.id, second.id] == [new.id for new in recorder.jobs]
    assert send.using(tenant="acme").enqueue_many([]) == []


def test_of_many_none_is_enqueued_if_one_is_wrong(send: Any, recorder: Recorder) -> None:
    with pytest.raises(InvalidJob) as refused:
        send.using(tenant="acme").enqueue_many([{"to": "a"}, {"ot": "b"}])
    assert str(refused.value).startswith("item 1 (counted from 0): ")
    with pytest.raises(InvalidJob, match="not a mapping"):
        send.using(tenant="acme").enqueue_many(["to"])
    with pytest.raises(InvalidJob, match=r"^key: "):
        send.using(tenant="acme", key="k").enqueue_many([{"to": "a"}])
    assert recorder.jobs == []


def test_a_type_that_is_known_by_name_only_is_enqueued_the_same_way(send: Any, recorder: Recorder) -> None:
    handle = registry.get("mail.send").using(tenant="acme", key="k").enqueue(to="a")
    assert handle == Handle(recorder.job.id, "queued")
    assert recorder.job.key == "k"


def test_without_an_engine_the_error_says_what_is_missing(send: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enqueuer, "_enqueuer", None)
    with pytest.raises(NotInstalled, match="INSTALLED_APPS"):
        send.using(tenant="acme").enqueue("a")
