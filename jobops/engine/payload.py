"""Arguments and results as JSON, without ever changing a value silently.

The shape is RQ's own for a JSON serializer, ``[name, null, args, kwargs]``, so that RQ's tools can show it.
What plain JSON would alter is either carried under a tag (datetime, date, Decimal, UUID) or refused with the
argument's name (NaN, tuples, sets, bytes, non-string keys, objects). Nothing is ever unpickled or imported.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from typing import Any
from uuid import UUID

from jobops.engine.errors import InvalidJob, PayloadTooLarge, Unserializable

DEFAULT_LIMIT = 256 * 1024
"""Bytes of JSON a job's arguments may take."""

MAX_DEPTH = 64
"""Levels of nesting: far under the recursion limit of any reader."""

MAX_INT_BITS = 13_288
"""4,000 decimal digits: Python reads and writes no more than 4,300."""

TAG = "__jobops__"

_TAGGED: dict[type, tuple[str, Callable[[Any], str]]] = {
    datetime: ("datetime", lambda value: str(value.isoformat())),
    date: ("date", lambda value: str(value.isoformat())),
    Decimal: ("decimal", str),
    UUID: ("uuid", str),
}
_UNTAGGED: dict[str, Callable[[str], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "decimal": Decimal,
    "uuid": UUID,
}
_MALFORMED = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)
"""What reading JSON, or what somebody put behind one of our tags, can raise."""

_HINTS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (tuple, "a tuple would arrive as a list; pass a list"),
    ((set, frozenset), "a set has no order in JSON; pass a sorted list"),
    ((bytes, bytearray, memoryview), "bytes are not JSON; store them elsewhere and pass a reference, or pass base64"),
    (Enum, "pass its .value"),
)


def encode(
    job_type: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    limit: int = DEFAULT_LIMIT,
    arg_names: Sequence[str] = (),
) -> bytes:
    """The payload of a job. ``arg_names`` name the positional arguments in errors.

    Raises Unserializable naming the argument, and PayloadTooLarge above ``limit`` bytes.
    """
    if not args and not kwargs:
        return _within(_bare(job_type), limit)
    packed_args = [_pack(v, arg_names[i] if i < len(arg_names) else f"args[{i}]", 0) for i, v in enumerate(args)]
    packed_kwargs = {}
    for name, value in kwargs.items():
        if type(name) is not str:
            raise Unserializable(repr(name), "argument names are strings")
        packed_kwargs[_text(name, name)] = _pack(value, name, 0)
    return _within(_dump([job_type, None, packed_args, packed_kwargs]), limit)


@lru_cache(maxsize=1024)
def _bare(job_type: str) -> bytes:
    return _dump([job_type, None, [], {}])


def _within(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise PayloadTooLarge(len(data), limit)
    return data


def decode(data: bytes) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Job type, positional and keyword arguments of a payload. Raises InvalidJob when it is not one of ours."""
    try:
        document = _load(data)
    except _MALFORMED as error:
        raise _not_a_payload(error) from error
    return unpack(document)


def unpack(document: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """The same of a payload that was read as JSON already. Raises InvalidJob when it is not one of ours."""
    try:
        name, _instance, args, kwargs = document
        if not (isinstance(name, str) and isinstance(args, list) and isinstance(kwargs, dict)):
            raise ValueError("not [name, null, args, kwargs]")
        return name, tuple([_unpack(v) for v in args]), {k: _unpack(v) for k, v in kwargs.items()}
    except _MALFORMED as error:
        raise _not_a_payload(error) from error


def _not_a_payload(error: Exception) -> InvalidJob:
    return InvalidJob("data", f"not a payload of this engine ({type(error).__name__}: {error})")


def encode_result(value: Any, name: str = "result") -> bytes:
    """A return value as JSON, or another single value by its ``name``. Raises Unserializable naming the place in it."""
    return _dump(_pack(value, name, 0))


def decode_result(data: bytes, name: str = "result") -> Any:
    """The value that ``encode_result`` made. Raises InvalidJob when it is not one."""
    try:
        return _unpack(_load(data))
    except _MALFORMED as error:
        raise InvalidJob(name, f"not a {name} of this engine ({type(error).__name__})") from error


# Made once: `json` makes them for each call, which takes longer than what they do then.
# It need not look for circles: what it gets is what `_pack` made.
_JSON = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))
_parts: Callable[[Any, int], tuple[str, ...]] = c_make_encoder(
    None, _JSON.default, encode_basestring, None, _JSON.key_separator, _JSON.item_separator, False, False, False
)
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def _dump(value: Any) -> bytes:
    return "".join(_parts(value, 0)).encode()


def _load(data: bytes) -> Any:
    """As `json.loads`, which is asked only if it is not as ours is: UTF-8 with nothing around the value."""
    try:
        text = data.decode()
        value, end = _scan(text, 0)
    except (UnicodeDecodeError, StopIteration):
        return json.loads(data)
    return value if end == len(text) else json.loads(data)


def _pack(value: Any, path: str, depth: int) -> Any:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int or kind is float:
        return _number(value, path)
    if kind is str:
        return _text(value, path)
    if depth > MAX_DEPTH:
        raise Unserializable(path[:80], f"nested more than {MAX_DEPTH} levels deep")
    if kind is list:
        return [_pack(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
    if kind is dict:
        return _pack_dict(value, path, depth)
    if kind in _TAGGED:
        name, write = _TAGGED[kind]
        return {TAG: name, "v": write(value)}
    return _pack_other(value, path)


def _pack_dict(value: dict[Any, Any], path: str, depth: int) -> Any:
    for key in value:
        if type(key) is not str:
            raise Unserializable(path, f"the key {key!r} would arrive as a string; use string keys")
    packed = {_text(k, path): _pack(v, f"{path}.{k}", depth + 1) for k, v in value.items()}
    # A caller's own dict that holds our tag is wrapped, so that it comes back as it went in.
    return {TAG: "dict", "v": packed} if TAG in packed else packed


def _pack_other(value: Any, path: str) -> Any:
    for kinds, hint in _HINTS:
        if isinstance(value, kinds):
            raise Unserializable(path, f"{type(value).__name__}: {hint}")
    if isinstance(value, str):  # lazy-translated and safe strings: the text is the value
        return _text(str.__str__(value), path)
    raise Unserializable(
        path,
        f"{type(value).__name__} is not JSON; pass plain data (str, int, float, bool, None, list, dict, "
        "datetime, date, Decimal, UUID) or an id to look it up by",
    )


def _number(value: Any, path: str) -> Any:
    if type(value) is int and value.bit_length() > MAX_INT_BITS:
        raise Unserializable(path, "a whole number of more than 4,000 digits; pass it as text")
    if type(value) is float and not math.isfinite(value):
        raise Unserializable(path, f"{value!r} is not JSON; pass null or a string")
    return value


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Unserializable(path, "text with a lone surrogate is not Unicode; repair it first") from None
    return value


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    if isinstance(value, dict):
        tag = value.get(TAG)
        if tag is None:
            return {k: _unpack(v) for k, v in value.items()}
        if tag == "dict":
            return {k: _unpack(v) for k, v in value["v"].items()}
        return _UNTAGGED[tag](value["v"]) if tag in _UNTAGGED else _refuse(tag)
    return value


def _refuse(tag: object) -> Any:
    raise ValueError(f"unknown tag {tag!r}")
