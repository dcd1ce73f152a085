"""What is secret in a job's arguments, result and error is replaced by dots: on pages, fragments and in commands alike.

Masked are the arguments that the job's contract names in ``redact``, whatever has the name of a secret at any
depth, and user and password in URLs; and the same values where the text of an error or a traceback repeats them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from jobops.contracts.error_text import visible
from jobops.contracts.job_type import JobType

DOTS = "••••••••"
SHORTEST_SECRET = 4
"""A shorter value in an error's text says nothing, and would blot out half of it."""

_SECRET = re.compile(
    r"pass(word|wd|phrase)?$|secret|token|api_?key|authorization|credential|private_?key", re.IGNORECASE
)
# It begins at the colon: from a scheme's first letter on, a long word without one would take quadratic time.
_URL_LOGIN = re.compile(r"(?<=[\w+.-])://[^\s/@:]*:[^\s/@]*@")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument for showing. ``masked``: its value is hidden, as a whole or in part."""

    name: str
    value: Any
    masked: bool


def shown_arguments(
    job_type: JobType | None, args: Sequence[Any], kwargs: Mapping[str, Any], *, mask: bool = True
) -> list[Argument]:
    """A job's arguments by name. Of a type that this process does not know, all are masked for those with ``mask``."""
    named = _named(job_type, args, kwargs)
    if not mask:
        return [Argument(name, value, False) for name, value in named.items()]
    return [_argument(job_type, name, value) for name, value in named.items()]


def masked_value(value: Any, secrets: Sequence[str] = ()) -> Any:
    """The value with what is secret inside it hidden, also where its texts repeat ``secrets``."""
    if isinstance(value, Mapping):
        return {key: DOTS if _SECRET.search(str(key)) else masked_value(each, secrets) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked_value(each, secrets) for each in value]
    return masked_text(value, secrets) if isinstance(value, str) else value


def secrets_of(job_type: JobType | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """The values that are hidden, as they may stand in a text; the longest first."""
    named = _named(job_type, args, kwargs)
    found = {text for name, value in named.items() for text in _texts(value, _is_redacted(job_type, name))}
    return sorted((text for text in found if len(text) >= SHORTEST_SECRET), key=lambda text: (-len(text), text))


def masked_text(text: str, secrets: Iterable[str]) -> str:
    """A text without these values and without logins in URLs."""
    for secret in secrets:
        text = text.replace(secret, DOTS)
    return _without_logins(text)


def _named(job_type: JobType | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    if job_type is not None:
        return job_type.named_arguments(args, kwargs)
    return {**{f"args[{index}]": value for index, value in enumerate(args)}, **kwargs}


def _argument(job_type: JobType | None, name: str, value: Any) -> Argument:
    if _is_redacted(job_type, name):
        return Argument(name, DOTS, True)
    hidden = masked_value(value)
    return Argument(name, hidden, hidden != value)


def _is_redacted(job_type: JobType | None, name: str) -> bool:
    """Of a type that nobody here knows, nobody knows either what is secret."""
    return job_type is None or job_type.redacts(name) or _SECRET.search(name) is not None


def _texts(value: Any, redacted: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(each, redacted or _SECRET.search(str(key)) is not None)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each, redacted)
    elif redacted and value is not None and not isinstance(value, bool):
        yield from _forms(value)


def _forms(value: Any) -> Iterator[str]:
    """As ``print`` shows it, as a date is written in JSON, and as text stands in a stored error, ``repr`` and JSON."""
    yield str(value)
    if isinstance(value, date):
        yield value.isoformat()
    if isinstance(value, str):
        yield visible(value)
        yield repr(value)[1:-1]
        yield json.dumps(value)[1:-1]
        yield json.dumps(value, ensure_ascii=False)[1:-1]


def _without_logins(text: str) -> str:
    return _URL_LOGIN.sub(f"://{DOTS}@", text)
