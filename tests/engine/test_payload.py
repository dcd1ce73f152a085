"""Payloads and results: a value comes back as it went in, or it is refused by its name."""

from __future__ import annotations

import enum
import json
import pickle
import uuid
from collections import OrderedDict
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobops.engine.errors import InvalidJob, PayloadTooLarge, Unserializable
from jobops.engine.payload import MAX_DEPTH, TAG, decode, decode_result, encode, encode_result

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ZONES = st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(lambda d: timezone(timedelta(seconds=d.seconds)))
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | st.datetimes(timezones=st.none() | st.just(UTC) | ZONES)
    | st.dates()
    | st.decimals(allow_nan=False)
    | st.uuids()
)
NAMES = TEXT | st.sampled_from([TAG, "v", "datetime", "dict", "", "__proto__"])
VALUES = st.recursive(LEAVES, lambda part: st.lists(part) | st.dictionaries(NAMES, part), max_leaves=12)


def exactly(one: Any, other: Any) -> bool:
    """Equal in value and in type at every place; floats by their bits."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(exactly, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(exactly(one[key], other[key]) for key in one)
    if isinstance(one, datetime):
        return one == other and one.utcoffset() == other.utcoffset()
    if isinstance(one, float | Decimal):
        return repr(one) == repr(other)
    return bool(one == other)


@given(st.lists(VALUES), st.dictionaries(NAMES, VALUES))
@example([{TAG: "datetime", "v": "2026-01-01"}], {TAG: {TAG: TAG}})
@example([-0.0, 1e-320, Decimal("-0"), Decimal("1E+3"), 10**400], {"v": {TAG: "dict", "v": {}}})
@example(["\x00", "\u2028", "😀", "\x7f"], {"": None})
def test_a_call_comes_back_as_it_went_in(args: list[Any], kwargs: dict[str, Any]) -> None:
    name, args_back, kwargs_back = decode(encode("t.work", args, kwargs, limit=10**9))
    assert name == "t.work"
    assert isinstance(args_back, tuple)
    assert exactly(args, list(args_back))
    assert exactly(kwargs, kwargs_back)


@given(VALUES)
def test_a_result_comes_back_as_it_went_in(value: Any) -> None:
    assert exactly(value, decode_result(encode_result(value)))


@settings(max_examples=20)
@given(st.lists(VALUES))
def test_a_payload_is_json_in_the_form_of_rq(args: list[Any]) -> None:
    name, instance, _args, kwargs = json.loads(encode("t.work", args, {}, limit=10**9))
    assert (name, instance, kwargs) == ("t.work", None, {})


def test_the_limit_is_that_of_the_bytes() -> None:
    size = len(encode("t", ("é" * 100,), {}))
    assert size > 200
    assert decode(encode("t", ("é" * 100,), {}, limit=size))[1] == ("é" * 100,)
    with pytest.raises(PayloadTooLarge, match=f"^arguments: {size} bytes as JSON, the limit is {size - 1}") as refused:
        encode("t", ("é" * 100,), {}, limit=size - 1)
    assert (refused.value.size, refused.value.limit) == (size, size - 1)
    with pytest.raises(PayloadTooLarge, match="the limit is 262144"):
        encode("t", ("x" * 300_000,), {})


class Colour(enum.Enum):
    RED = "red"


class Word(enum.StrEnum):
    A = "a"


class Level(enum.IntEnum):
    LOW = 1


class Point(NamedTuple):
    x: int


class Number(int):
    pass


REFUSED = [
    ((1, 2), "tuple would arrive as a list"),
    (Point(1), "tuple would arrive as a list"),
    ({1}, "sorted list"),
    (frozenset(), "sorted list"),
    (b"raw", "base64"),
    (bytearray(b"raw"), "base64"),
    (memoryview(b"raw"), "base64"),
    (float("nan"), "nan is not JSON"),
    (float("inf"), "inf is not JSON"),
    (-float("inf"), "-inf is not JSON"),
    (Colour.RED, r"\.value"),
    (Word.A, r"\.value"),
    (Level.LOW, r"\.value"),
    (time(1, 2), "time is not JSON"),
    (timedelta(1), "timedelta is not JSON"),
    (Fraction(1, 3), "Fraction is not JSON"),
    (1j, "complex is not JSON"),
    (object(), "object is not JSON"),
    (OrderedDict(a=1), "OrderedDict is not JSON"),
    (Number(5), "Number is not JSON"),
    (len, "builtin_function_or_method is not JSON"),
    (ValueError("x"), "ValueError is not JSON"),
    ({1: "a"}, "key 1 would arrive as a string"),
    ({None: "a"}, "key None would arrive as a string"),
    ({Word.A: "a"}, "would arrive as a string"),
    ("\ud800", "lone surrogate"),
    ({"\udfff": 1}, "lone surrogate"),
    (10**5_000, "digits"),
]


@pytest.mark.parametrize(("value", "hint"), REFUSED, ids=lambda value: type(value).__name__)
def test_what_json_would_change_is_refused_by_the_arguments_name(value: Any, hint: str) -> None:
    for args, kwargs, path in (
        ([1, value], {}, r"order"),
        ([1, 2, value], {}, r"args\[2\]"),
        ([], {"rows": value}, r"rows"),
        ([], {"rows": {"a": [0, value]}}, r"rows\.a\[1\]"),
    ):
        with pytest.raises(Unserializable, match=f"^{path}: .*{hint}") as refused:
            encode("t", args, kwargs, arg_names=("customer", "order"))
        str(refused.value).encode()
    with pytest.raises(Unserializable, match=f"^result: .*{hint}"):
        encode_result(value)


def test_argument_names_are_text() -> None:
    with pytest.raises(Unserializable, match="argument names are strings"):
        encode("t", (), {1: 2})  # type: ignore[dict-item]
    with pytest.raises(Unserializable, match="lone surrogate"):
        encode("t", (), {"\ud800": 2})


class Lazy(str):  # noqa: SLOT000
    """Like Django's safe strings: the text is the value."""

    def __str__(self) -> str:
        return "something else"


def test_a_string_of_a_subclass_arrives_as_its_text() -> None:
    (value,) = decode(encode("t", (Lazy("text"),), {}))[1]
    assert (value, type(value)) == ("text", str)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: {"k": v}])
def test_nesting_is_bounded_long_before_any_readers_recursion(wrap: Any) -> None:
    deep = wrap(nested(MAX_DEPTH - 2))
    assert decode(encode("t", (deep,), {}))[1] == (deep,)
    for depth in (MAX_DEPTH + 2, 100_000):
        with pytest.raises(Unserializable, match="nested more than 64 levels deep"):
            encode("t", (wrap(nested(depth)),), {})
    with pytest.raises(Unserializable, match="nested"):
        encode_result(nested(500))


def test_a_list_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(Unserializable, match="nested"):
        encode("t", (loop,), {})


def tagged(**fields: Any) -> bytes:
    return json.dumps(["t", None, [fields], {}]).encode()


GARBAGE = [
    b"", b"x", b"{}", b"[]", b"null", b"[1,null,[],{}]", b'["t",null,{},{}]', b'["t",null,[],[]]', b'["t",null,[]]',
    b'["t",null,[],{},1]', b"\xff\xfe", b"[" * 100_000, pickle.dumps(("t", None, (), {})),
    tagged(**{TAG: "class", "v": "os.system"}), tagged(**{TAG: "datetime"}), tagged(**{TAG: "dict"}),
    tagged(**{TAG: "dict", "v": [1]}), tagged(**{TAG: "datetime", "v": "yesterday"}), tagged(**{TAG: "date", "v": 5}),
    tagged(**{TAG: "decimal", "v": "x"}), tagged(**{TAG: "decimal", "v": {}}), tagged(**{TAG: "uuid", "v": 5}),
    tagged(**{TAG: ["list"], "v": 5}), tagged(**{TAG: 1, "v": 5}), tagged(**{TAG: "uuid", "v": "zz"}),
]  # fmt: skip


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
def test_what_is_no_payload_of_ours_is_one_clear_error(data: bytes) -> None:
    """PX-02: corrupt bytes, pickles, and tags that nobody wrote."""
    with pytest.raises(InvalidJob, match=r"^data: not a payload of this engine"):
        decode(data)


@given(st.binary())
def test_any_bytes_decode_or_are_one_clear_error(data: bytes) -> None:
    for read in (decode, decode_result):
        with suppress(InvalidJob):
            read(data)


def test_a_date_is_no_datetime_and_the_other_way_round() -> None:
    day, instant = date(2026, 2, 28), datetime(2026, 2, 28, tzinfo=UTC)
    _, (first, second, third), _ = decode(encode("t", [day, instant, uuid.UUID(int=5)], {}))
    assert (type(first), type(second), third.int) == (date, datetime, 5)


@pytest.mark.parametrize("text", [' ["t",null,[1],{}]\n', '["t", null, [1], {}]'])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_json_that_another_tool_wrote_is_read_as_ever(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == ("t", (1,), {})


@pytest.mark.parametrize("data", [b"", b" ", b"[", b'["t",null,[],{}]]', b'["t",null,[],{}] x', b"\xff"])
def test_what_is_no_json_or_more_than_that_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidJob):
        decode(data)
