"""Reads the settings that come from the environment, and refuses a bad one with a single clear line.

Each reader returns the value or ends the process with exit code 2 after one line on stderr that names the variable
and says what would be right. An empty variable counts as unset. No setting is read from the environment elsewhere.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import SplitResult, unquote, urlsplit

import environ

from jobops.engine.validation import LANE_PATTERN

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_REDIS_SCHEMES = ("redis", "rediss", "unix")
_POSTGRES_SCHEMES = ("postgres", "postgresql")
_SQLITE_SCHEME = "sqlite"
_LANE = re.compile(LANE_PATTERN)


class BadSetting(SystemExit):
    """A setting that cannot be used. Ends the process with exit code 2; the line was written when it was raised."""

    def __init__(self, variable: str, reason: str) -> None:
        super().__init__(2)
        self.variable = variable
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.variable} {self.reason}"


def refuse(variable: str, reason: str) -> NoReturn:
    """Stop the start: `reason` goes on after the variable's name and says what would be right."""
    error = BadSetting(variable, reason)
    sys.stderr.write(f"jobops: {error}\n")
    raise error


def text(variable: str, default: str = "") -> str:
    """Return the variable without surrounding blanks."""
    return os.environ.get(variable, "").strip() or default


def is_set(variable: str) -> bool:
    """Return whether the variable has a value."""
    return bool(text(variable))


def boolean(variable: str, *, default: bool) -> bool:
    """Return a yes or no."""
    value = text(variable).lower()
    if not value:
        return default
    if value not in _TRUE | _FALSE:
        refuse(variable, f"is {value!r}, which is neither yes nor no: use 1 or 0")
    return value in _TRUE


def choice(variable: str, default: str, allowed: Collection[str]) -> str:
    """Return one of the allowed words, whatever its case in the environment."""
    by_lower = {word.lower(): word for word in allowed}
    value = text(variable, default).lower()
    if value not in by_lower:
        refuse(variable, f"is {value!r}: use one of {', '.join(allowed)}")
    return by_lower[value]


def number(variable: str, *, default: float, minimum: float, maximum: float = math.inf) -> float:
    """Return a finite number between the bounds, both included."""
    value = text(variable)
    if not value:
        return default
    try:
        parsed = float(value)
    except ValueError:
        parsed = math.nan
    if not (math.isfinite(parsed) and minimum <= parsed <= maximum):
        refuse(variable, f"is {value!r}: use a number {_bounds(minimum, maximum)}")
    return parsed


def integer(variable: str, *, default: int, minimum: int, maximum: int | None = None) -> int:
    """Return a whole number between the bounds, both included."""
    value = text(variable)
    if not value:
        return default
    upper = math.inf if maximum is None else maximum
    try:
        parsed = int(value)
    except ValueError:
        refuse(variable, f"is {value!r}: use a whole number {_bounds(minimum, upper)}")
    if not minimum <= parsed <= upper:
        refuse(variable, f"is {parsed}: use a whole number {_bounds(minimum, upper)}")
    return parsed


def words(variable: str, default: Collection[str] = ()) -> list[str]:
    """Return the parts of a comma-separated list, blanks and empty parts dropped."""
    parts = [part.strip() for part in text(variable).split(",")]
    return [part for part in parts if part] or list(default)


def modules(variable: str) -> list[str]:
    """Return a comma-separated list of dotted module names. Whether they can be imported is a system check's matter."""
    names = words(variable)
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            refuse(variable, f"has {name!r}, which is no module name: use dotted names such as shop.jobs,mail.jobs")
    return names


def lanes(variable: str, default: Mapping[str, float]) -> dict[str, float]:
    """Return lane → share from `name:share,name:share`; the first lane is the most urgent, shares are relative."""
    example = "use NAME:SHARE pairs such as interactive:4,bulk:1"
    found: dict[str, float] = {}
    for pair in words(variable):
        name, colon, share = (part.strip() for part in pair.partition(":"))
        if not colon or not _LANE.fullmatch(name):
            refuse(
                variable,
                f"has {pair!r}: {example} (a name has lower-case letters, digits and _, and starts with a letter)",
            )
        if name in found:
            refuse(variable, f"names the lane {name!r} twice: {example}")
        try:
            found[name] = float(share)
        except ValueError:
            found[name] = math.nan
        if not 0 < found[name] < math.inf:
            refuse(variable, f"gives the lane {name!r} the share {share!r}: a share is a number above 0, {example}")
    return found or dict(default)


def lanes_of(variable: str, known: Mapping[str, float]) -> list[str]:
    """Return a comma-separated list of lanes, each of which must be one of `known`; all of them when unset."""
    chosen = words(variable, known)
    for lane in chosen:
        if lane not in known:
            refuse(variable, f"has the lane {lane!r}, which does not exist: use some of {', '.join(known)}")
    return chosen


def redis_url(variable: str, default: str) -> str:
    """Return the URL of a Redis server: redis://, rediss:// or unix://."""
    value = text(variable)
    if not value:
        return default
    parts = _split(variable, value, "redis://localhost:6379/0 or unix:///run/redis.sock")
    if parts.scheme not in _REDIS_SCHEMES:
        refuse(variable, f"has the scheme {parts.scheme!r}: use redis://HOST:PORT/NUMBER, rediss:// or unix://PATH")
    if parts.scheme == "unix" and not parts.path.strip("/"):
        refuse(variable, "names no socket: use unix:///run/redis.sock")
    if parts.scheme != "unix":
        if not parts.hostname:
            refuse(variable, "names no host: use redis://HOST:PORT/NUMBER")
        if not (parts.path.strip("/") or "0").isdecimal():
            refuse(variable, f"names the database {parts.path.strip('/')!r}: use a number, as in redis://HOST:PORT/0")
    return value


def database(variable: str, default: Path) -> dict[str, Any]:
    """Return Django's settings of one database, without options of our own; a SQLite file at `default` when unset."""
    value = text(variable)
    if not value:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(default)}
    wanted = "postgres://USER:PASSWORD@HOST:5432/NAME or sqlite:////full/path.sqlite3"
    parts = _split(variable, value, wanted)
    if parts.scheme not in (*_POSTGRES_SCHEMES, _SQLITE_SCHEME):
        refuse(variable, f"has the scheme {parts.scheme!r}: use {wanted}")
    if not parts.path.strip("/"):
        refuse(variable, f"names no database: use {wanted}")
    config: dict[str, Any] = environ.Env.db_url_config(value)
    if parts.scheme in _POSTGRES_SCHEMES:
        config["HOST"] = unquote(config["HOST"])  # a socket's directory comes percent-encoded
    return config


def secret_key(variable: str, keep_in: Path | None) -> str:
    """Return Django's secret key. When unset, one is made and kept in the file `keep_in`; without a file: refused."""
    value = text(variable)
    if value:
        return value
    if keep_in is None:
        refuse(
            variable, "is not set: with DATABASE_URL and DEBUG off it must be, to a long random text all hosts share"
        )
    if not keep_in.exists():
        _write_once(keep_in, secrets.token_urlsafe(48))
    return keep_in.read_text().strip()


def _write_once(path: Path, content: str) -> None:
    """Write a private file whole, unless another process was faster."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent) as draft:  # made readable by its owner only
        draft.write(content)
        draft.flush()
        with contextlib.suppress(FileExistsError):
            os.link(draft.name, path)


def _split(variable: str, value: str, wanted: str) -> SplitResult:
    try:
        parts = urlsplit(value)
        _ = parts.port  # parsed, and so checked, only when asked for
    except ValueError:
        # Python's own message may carry a part of the password.
        refuse(variable, f"cannot be read as a URL (is a special character in it not percent-encoded?): use {wanted}")
    if not parts.scheme or "://" not in value:
        refuse(variable, f"is no URL: use {wanted}")
    return parts


def _bounds(minimum: float, maximum: float) -> str:
    return f"of at least {minimum:g}" if maximum == math.inf else f"from {minimum:g} to {maximum:g}"
