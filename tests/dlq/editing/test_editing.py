"""Other arguments for one replay: laid over the signature, checked, and never a masked value handed out or lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from dlq import editing
from dlq.editing import Editable, NoSuchArgument
from dlq.errors import InvalidAction, NotReplayable
from dlq.models import DeadLetter, ForeignJob, Redirect
from dlq.payloads import stored_arguments
from jobops.contracts.config import config
from jobops.contracts.decorator import job
from jobops.contracts.registry import temporary_registry
from jobops.contracts.secret_values import DOTS
from jobops.engine.payload import encode
from tests.dlq.letters import letter

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    with temporary_registry():

        @job(name="pay.capture", owner="pay", drain_sla="1h", idempotent="yes", redact=["card"])
        def capture(invoice: int, amount: Decimal, at: datetime | None = None, card: str = "", **more: Any) -> None: ...

        @job(name="pay.lines", owner="pay", drain_sla="1h", idempotent="yes")
        def lines(path: str, /, mode: str = "a", *rows: int, last: bool = False) -> None: ...

        yield


def stored(*args: Any, **kwargs: Any) -> str:
    _name, _none, packed, named = json.loads(encode("x", args, kwargs))
    return json.dumps({"args": packed, "kwargs": named})


def dead(job_type: str = "pay.capture", payload: str = "", **fields: Any) -> DeadLetter:
    return letter(None, job_type=job_type, payload=payload, **fields)


def captured() -> DeadLetter:
    at = datetime(2026, 11, 30, 9, tzinfo=UTC)
    return dead(payload=stored(7, Decimal("12.50"), at=at, card="4242-4242", meta={"token": "s3cret", "x": 1}))


def refused(found: Editable, **given: str | None) -> InvalidAction:
    with pytest.raises(InvalidAction) as refusal:
        found.edit(given)
    return refusal.value


def test_each_argument_is_a_field_and_no_masked_value_leaves() -> None:
    fields = {each.name: each for each in Editable(captured()).fields}
    assert list(fields) == ["invoice", "amount", "at", "card", "more"]
    assert fields["amount"].text == '{"$decimal": "12.50"}'
    assert fields["at"].text == '{"$datetime": "2026-11-30T09:00:00+00:00"}'
    assert (fields["invoice"].takes, fields["invoice"].required, fields["at"].required) == ("int", True, False)
    for name in ("card", "more"):
        assert (fields[name].masked, fields[name].given, fields[name].text) == (True, True, "")
    assert not any(secret in repr(list(fields.values())) for secret in ("4242", "s3cret"))
    plain = {each.name: each for each in Editable(captured(), mask=False).fields}
    assert plain["card"].text == '"4242-4242"'
    assert json.loads(plain["more"].text) == {"meta": {"token": "s3cret", "x": 1}}


def test_what_is_kept_keeps_its_value_and_its_type() -> None:
    edit = Editable(captured()).edit({"invoice": "8", "card": None})
    assert edit.changed == ["invoice"]
    at = datetime(2026, 11, 30, 9, tzinfo=UTC)
    assert stored_arguments(edit.payload) == (
        (),
        {
            "invoice": 8, "amount": Decimal("12.50"), "at": at, "card": "4242-4242",
            "meta": {"token": "s3cret", "x": 1},
        },
    )  # fmt: skip


def test_a_masked_value_is_replaced_as_a_whole_or_not_at_all() -> None:
    found = Editable(captured())
    assert "dots of a mask" in refused(found, more=json.dumps({"meta": {"token": DOTS, "x": 2}})).problem
    edit = found.edit({"more": '{"meta": {"token": "new", "x": 2}}', "card": '"1111"'})
    assert edit.changed == ["card", "more"]
    kwargs = stored_arguments(edit.payload)[1]  # type: ignore[index]
    assert (kwargs["card"], kwargs["meta"]) == ("1111", {"token": "new", "x": 2})


def test_left_out_is_the_default_and_what_is_needed_is_asked_for_by_name() -> None:
    found = Editable(captured())
    edit = found.edit({"card": "", "at": " "})
    assert edit.changed == ["at", "card"]
    assert stored_arguments(edit.payload)[1].keys() == {"invoice", "amount", "meta"}  # type: ignore[index]
    error = refused(found, invoice="")
    assert (error.field, error.problem) == ("invoice", "needs a value: the job cannot run without it")


@pytest.mark.parametrize(
    ("given", "field", "problem"),
    [
        ({"amount": "twelve"}, "amount", "is no JSON"),
        ({"more": "[1]"}, "more", "must be an object"),
        ({"more": '{"invoice": 9}'}, "more", "holds invoice, which is an argument of its own"),
        ({"invoice": "1e999"}, "invoice", "is not JSON"),
        ({"invoice": "7"}, "arguments", "nothing is changed"),
        ({}, "arguments", "nothing is changed"),
    ],
)
def test_what_is_wrong_is_said_of_the_argument(given: dict[str, str], field: str, problem: str) -> None:
    error = refused(Editable(captured()), **given)
    assert error.field == field
    assert problem in error.problem


def test_one_and_true_and_one_point_nought_are_three_values() -> None:
    found = Editable(dead(payload=stored(1, Decimal(1))))
    for text, kind in (("1.0", "a number"), ("true", "true or false")):
        edit = found.edit({"invoice": text})
        assert edit.changed == ["invoice"]
        assert found.kinds(edit) == {"invoice": ("a whole number", kind)}
    assert found.kinds(found.edit({"invoice": "2"})) == {}


def test_too_large_a_payload_names_the_largest_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editing, "config", lambda: replace(config(), payload_limit=200))
    error = refused(Editable(captured()), at=json.dumps("x" * 300))
    assert error.field == "at"
    assert error.problem.startswith("takes 302 bytes, and all arguments take")


@pytest.mark.parametrize("name", ["os.system", "job_type", "func", "__class__", "meta", "args", "more.meta"])
def test_nothing_but_an_argument_can_be_edited(name: str) -> None:
    """SE-10"""
    with pytest.raises(NoSuchArgument, match=r"is no argument of pay\.capture, which takes invoice, amount"):
        Editable(captured()).edit({name: '"subprocess.run"'})


def test_arguments_by_position_keep_their_places() -> None:
    found = Editable(dead("pay.lines", stored("a.csv", "w", 1, 2, last=True)))
    assert {each.name: each.text for each in found.fields} == {
        "path": '"a.csv"', "mode": '"w"', "rows": "[1, 2]", "last": "true",
    }  # fmt: skip
    assert stored_arguments(found.edit({"rows": "[3]"}).payload) == (("a.csv", "w", 3), {"last": True})
    assert refused(found, mode="").problem == "needs a value, as rows after it has one"
    assert stored_arguments(found.edit({"rows": "", "mode": ""}).payload) == (("a.csv",), {"last": True})


def test_what_the_job_of_today_takes_no_more_is_left_out_and_said() -> None:
    found = Editable(dead("pay.lines", stored("a.csv", old=1, path="x")))
    assert found.left_over == ["old", "path"]
    edit = found.edit({})
    assert edit.changed == ["old", "path"]
    assert stored_arguments(edit.payload) == (("a.csv",), {})


def test_unreadable_arguments_can_be_given_anew() -> None:
    found = Editable(dead("pay.lines", "", payload_raw=b"\x80"))
    assert [each.given for each in found.fields] == [False] * 4
    assert stored_arguments(found.edit({"path": '"a.csv"'}).payload) == (("a.csv",), {})


def test_of_a_type_that_is_gone_every_value_is_masked_and_a_redirect_says_which_it_becomes() -> None:
    gone = dead("billing.capture", stored(invoice=7, amount=Decimal(1), card="4242-4242"))
    with pytest.raises(NotReplayable, match=r"billing\.capture is not registered"):
        Editable(gone)
    Redirect.objects.create(from_type="billing.capture", to_type="pay.capture", by="x")
    found = Editable(gone)
    assert [each.masked for each in found.fields] == [True, True, False, True, False]
    assert stored_arguments(found.edit({"invoice": "8"}).payload)[1]["card"] == "4242-4242"  # type: ignore[index]


def test_another_installations_letter_is_not_edited_here() -> None:
    foreign = dead(payload=stored(7, Decimal(1)))
    now = datetime.now(UTC)
    ForeignJob.objects.create(letter=foreign, source="old", rq_id="1", queue="q", failed_at=now, record=b"")
    with pytest.raises(NotReplayable, match="another installation"):
        Editable(foreign)


@pytest.mark.parametrize("guess", ["4242-4242", "1111"])
def test_a_masked_value_that_is_replaced_counts_as_changed_whatever_it_was(guess: str) -> None:
    """SE-06: or one would try until nothing is changed."""
    it = captured()
    assert Editable(it).edit({"card": json.dumps(guess)}).changed == ["card"]
    refusal = refused(Editable(it, mask=False), card='"4242-4242"')
    assert "nothing is changed" in refusal.problem, "who sees it is told"
