"""What is secret in a job's arguments, result and error is replaced by dots: on pages, fragments and in commands alike.

Masked are the arguments that the job's contract names in ``redact``, whatever has the name of a secret at any
depth, and user and password in URLs; and the same values where another argument, an error or a traceback repeats
them. Where it cannot be told what is secret, a text is hidden as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from jobops.contracts.error_text import visible
from jobops.contracts.job_type import JobType
from jobops.contracts.secret_values import DOTS, UNREADABLE, Secrets

NO_SECRETS = Secrets()
UNKNOWN_SECRETS = Secrets(instead=UNREADABLE)
"""Those of arguments that cannot be read: nobody knows what to look for."""

_SECRET = re.compile(
    r"pass(word|wd|phrase)?$|secret|token|api_?key|authorization|credential|private_?key", re.IGNORECASE
)
# It begins at the colon: from a scheme's first letter on, a long word without one would take quadratic time.
_URL_LOGIN = re.compile(r"(?<=[\w+.-])://[^\s/@:]*:[^\s/@]*@")
# Text whose forms are all the same.
_PLAIN = re.compile(r"[ !#-&(-\[\]-~]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument for showing. ``masked``: its value is hidden, as a whole or in part."""

    name: str
    value: Any
    masked: bool


def shown_arguments(
    job_type: JobType | None,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    mask: bool = True,
    secrets: Secrets | None = None,
) -> list[Argument]:
    """A job's arguments by name. Of a type that this process does not know, all are masked for those with ``mask``.

    ``secrets``: the same arguments' ``secrets_of``, from whom has them already.
    """
    named = _named(job_type, args, kwargs)
    if not mask:
        return [Argument(name, value, False) for name, value in named.items()]
    known = secrets_of(job_type, args, kwargs) if secrets is None else secrets
    return [_argument(job_type, name, value, known) for name, value in named.items()]


def masked_value(value: Any, secrets: Secrets = NO_SECRETS) -> Any:
    """The value with what is secret inside it hidden, also where it repeats ``secrets``."""
    if secrets.instead:
        return secrets.instead
    if isinstance(value, Mapping):
        return {
            masked_text(str(key), secrets): DOTS if _SECRET.search(str(key)) else masked_value(each, secrets)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [masked_value(each, secrets) for each in value]
    if isinstance(value, str):
        return masked_text(value, secrets)
    # A number or a date is hidden where it is the secret, not where its digits hold it.
    return DOTS if secrets.values and any(form in secrets for form in _forms(value)) else value


def secrets_of(job_type: JobType | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Secrets:
    """The values that are hidden, as they may stand in a text."""
    named = _named(job_type, args, kwargs)
    return Secrets(text for name, value in named.items() for text in _texts(value, _is_redacted(job_type, name)))


def masked_text(text: str, secrets: Secrets = NO_SECRETS) -> str:
    """A text without these values and without logins in URLs."""
    return _without_logins(secrets.hide(text))


def _named(job_type: JobType | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    if job_type is not None:
        return job_type.named_arguments(args, kwargs)
    return {**{f"args[{index}]": value for index, value in enumerate(args)}, **kwargs}


def _argument(job_type: JobType | None, name: str, value: Any, secrets: Secrets) -> Argument:
    if secrets.instead or _is_redacted(job_type, name):
        return Argument(name, DOTS, True)
    hidden = masked_value(value, secrets)
    # As text: a Decimal that is no number equals nothing, not even itself, and one of them cannot even be asked.
    return Argument(name, hidden, repr(hidden) != repr(value))


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
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        yield visible(value)
        yield repr(value)[1:-1]
        yield json.dumps(value)[1:-1]
        yield json.dumps(value, ensure_ascii=False)[1:-1]


def _without_logins(text: str) -> str:
    return _URL_LOGIN.sub(f"://{DOTS}@", text) if "://" in text else text
