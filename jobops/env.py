"""Reads the settings that come from the environment, and refuses a bad one with a single clear line.

Each reader returns the value or ends the process with exit code 2 after one line on stderr that names the variable
and says what would be right. An empty variable counts as unset. No setting is read from the environment elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import SplitResult, unquote, urlsplit

import environ

from jobops.engine import sentinel
from jobops.engine.validation import LANE_PATTERN
from jobops.module_search import missing_part

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_REDIS_SCHEMES = ("redis", "rediss", "unix")
_POSTGRES_SCHEMES = ("postgres", "postgresql")
_SQLITE_SCHEME = "sqlite"
_LANE = re.compile(LANE_PATTERN)
# What Django compares a request's host with: no scheme, no port. A leading dot stands for all below a domain.
_HOST = re.compile(r"\*|\.?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?|\[[0-9A-Fa-f:.]+\]")
_SOURCE = re.compile(r"[a-z0-9][a-z0-9._-]{0,49}")
SHORTEST_SECRET_KEY = 32
LONGEST_OWNER = 100


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


def adopt(file: Path) -> None:
    """Take the variables of ours that a JSON file holds, but for those that the environment has. No file: nothing."""
    try:
        held = json.loads(file.read_text())
    except (OSError, ValueError):
        return
    for name, value in held.items():
        if name.startswith("JOBOPS_"):
            os.environ.setdefault(name, str(value))


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


def hosts(variable: str, default: Collection[str]) -> list[str]:
    """Return a comma-separated list of host names as Django's ALLOWED_HOSTS wants them: no scheme, no port."""
    example = "use names such as jobops.example.com,127.0.0.1"
    for host in _parts(variable, example):
        if not _HOST.fullmatch(host):
            refuse(variable, f"has {host!r}, which is no host name (it has no scheme, port or path): {example}")
    return words(variable, default)


def origins(variable: str) -> list[str]:
    """Return a comma-separated list of origins: scheme and host, and a port unless it is the scheme's own."""
    example = "use origins such as https://jobops.example.com"
    for origin in _parts(variable, example):
        scheme, _, host = origin.partition("://")
        host = re.sub(r":[0-9]{1,5}$", "", host) if not host.endswith("]") else host
        # Django takes https://*.example.com too.
        if scheme not in ("http", "https") or not _HOST.fullmatch(host.removeprefix("*")):
            refuse(variable, f"has {origin!r}, which is no origin (https:// or http://, then a host): {example}")
    return words(variable)


def base_url(variable: str, default: str = "") -> str:
    """Return where these pages are opened: one origin and perhaps a path, without a slash at its end."""
    value = text(variable).rstrip("/")
    if not value:
        return default
    example = "use a URL such as https://jobops.example.com"
    parts = _split(variable, value, example)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        refuse(variable, f"is no address of a site (https:// or http://, a host, perhaps a path): {example}")
    if not value.isascii() or not value.isprintable() or set(value) & set("<>|\"' "):
        refuse(variable, f"has a character that no URL has: {example}")
    return value


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed in; without a host nowhere."""

    host: str = ""
    port: int = 25
    user: str = ""
    password: str = ""
    starttls: bool = False
    tls: bool = False


def mail_server(variable: str) -> MailServer:
    """Return the server that takes our mail: smtp://, smtp+tls:// (STARTTLS) or smtps://, with USER:PASSWORD@."""
    value = text(variable)
    if not value:
        return MailServer()
    ports = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
    wanted = "use smtp+tls://USER:PASSWORD@HOST:587, smtps:// or smtp://HOST"
    parts = _split(variable, value, wanted.removeprefix("use "))
    if parts.scheme not in ports:
        refuse(variable, f"has the scheme {parts.scheme!r}: {wanted}")
    if not parts.hostname:
        refuse(variable, f"names no host: {wanted}")
    return MailServer(
        host=parts.hostname,
        port=parts.port or ports[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+tls",
        tls=parts.scheme == "smtps",
    )


def owner(variable: str, default: str) -> str:
    """Return the name of who owns something: not blank, and not longer than the database takes."""
    value = text(variable, default)
    if os.environ.get(variable, "").strip() != os.environ.get(variable, "") and not is_set(variable):
        refuse(variable, "is blank: use the name of a team, such as operations")
    if len(value) > LONGEST_OWNER:
        refuse(variable, f"has {len(value)} characters: use a name of at most {LONGEST_OWNER}")
    return value


def modules(variable: str) -> list[str]:
    """Return a comma-separated list of dotted module names, all of which can be found; none is imported."""
    names = words(variable)
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            refuse(variable, f"has {name!r}, which is no module name: use dotted names such as shop.jobs,mail.jobs")
    for name in names:
        if missing := missing_part(name):
            what = "which" if missing == name else f"and {missing!r}"
            refuse(variable, f"has {name!r}, {what} cannot be found: correct the name, or put its folder on PYTHONPATH")
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


def rq_sources(variable: str) -> dict[str, str]:
    """Return the named Redis servers of other RQ installations: NAME=URL, comma-separated."""
    example = "write NAME=URL, as in billing=redis://10.0.0.5:6379/0"
    value = text(variable)
    found: dict[str, str] = {}
    # A comma may stand in a URL, of Sentinels or in a password: a part begins where a name does.
    for part in re.split(r",\s*(?=[^=,:/@]*=[a-z+]+://)", value) if value else []:
        name, mark, url = part.strip().partition("=")
        if not mark or not _SOURCE.fullmatch(name):
            # Not the part itself: what is typed wrongly may be a password.
            refuse(variable, f"has a part without a name of small letters, digits, dots and hyphens: {example}")
        if name in found:
            refuse(variable, f"names the source {name!r} twice: {example}")
        found[name] = _redis_url(variable, url)
    return found


def redis_url(variable: str, default: str) -> str:
    """Return the URL of a Redis server: redis://, rediss:// or unix://, or of its Sentinels: redis+sentinel://,
    rediss+sentinel://."""
    value = text(variable)
    return _redis_url(variable, value) if value else default


def _redis_url(variable: str, value: str) -> str:
    if sentinel.is_sentinel(value):
        try:
            sentinel.parse(value)
        except ValueError as error:
            refuse(variable, str(error))
        return value
    parts = _split(variable, value, "redis://localhost:6379/0 or unix:///run/redis.sock")
    if parts.scheme not in _REDIS_SCHEMES:
        refuse(
            variable,
            f"has the scheme {parts.scheme!r}: use redis://HOST:PORT/NUMBER, rediss://, unix://PATH or redis+sentinel://",
        )
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
    if parts.scheme == _SQLITE_SCHEME and (parts.netloc or not parts.path.startswith("//")):
        refuse(variable, "names no full path: use sqlite:////full/path.sqlite3, with four slashes")
    config: dict[str, Any] = environ.Env.db_url_config(value)
    if parts.scheme == _SQLITE_SCHEME:
        _check_sqlite(variable, Path(config["NAME"]))
    else:
        config["HOST"] = unquote(config["HOST"])  # a socket's directory comes percent-encoded
    return config


def folder(variable: str, default: Path) -> Path:
    """Return a folder's full path, whether it exists yet or not. What stands in its way is refused."""
    path = Path(text(variable, str(default)))
    try:
        path = path.resolve()
        standing = next(place for place in (path, *path.parents) if place.exists())
    except (OSError, RuntimeError) as error:  # the latter: symbolic links in a circle
        refuse(variable, f"is {str(path)!r}, which cannot be used ({_why(error)}): use a folder's full path")
    if not standing.is_dir():
        refuse(variable, f"is {str(path)!r}, but {standing} is no folder: use a folder's full path")
    if not os.access(standing, os.X_OK):
        refuse(variable, f"is {str(path)!r}, but this user may not enter {standing}: use a folder of its own")
    return path


def make_folder(variable: str, path: Path) -> None:
    """Make a folder that files will be written to; `variable` is what put it there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _refuse_folder(variable, path, error)
    if not os.access(path, os.W_OK | os.X_OK):
        refuse(variable, f"leads to {path}, where this user may not write: use a folder of its own")


def secret_key(
    variable: str, keep_in: Path | None, *, kept_by: str = "JOBOPS_VAR", shortest: int = SHORTEST_SECRET_KEY
) -> str:
    """Return Django's secret key. When unset, one is made and kept in the file `keep_in`; without a file: refused.

    `kept_by` names the variable that says where the file is. A given key of less than `shortest` characters is refused.
    """
    value = text(variable)
    if value and len(value) < shortest:
        refuse(variable, f"has {len(value)} characters: use a random text of at least {shortest}")
    if value:
        return value
    if keep_in is None:
        refuse(
            variable, "is not set: with DATABASE_URL and DEBUG off it must be, to a long random text all hosts share"
        )
    try:
        if not keep_in.exists():
            _write_once(keep_in, secrets.token_urlsafe(48))
        return keep_in.read_text().strip()
    except OSError as error:
        _refuse_folder(kept_by, keep_in.parent, error)


def _write_once(path: Path, content: str) -> None:
    """Write a private file whole, unless another process was faster."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent) as draft:  # made readable by its owner only
        draft.write(content)
        draft.flush()
        with contextlib.suppress(FileExistsError):
            os.link(draft.name, path)


def _refuse_folder(variable: str, path: Path, error: OSError) -> NoReturn:
    refuse(variable, f"leads to {path}, which cannot be written ({_why(error)}): use a folder of its own")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _check_sqlite(variable: str, path: Path) -> None:
    """The folder must be there: made silently, a typing error would be a new, empty database."""
    try:
        folder_is_there, is_folder = path.parent.is_dir(), path.is_dir()
    except OSError as error:
        refuse(variable, f"names {path}, which cannot be used ({_why(error)}): use sqlite:////full/path.sqlite3")
    if not folder_is_there:
        refuse(variable, f"names a file in {path.parent}, which is no folder: make that, or correct the path")
    if is_folder:
        refuse(variable, f"names {path}, which is a folder: use sqlite:////full/path.sqlite3")


def _parts(variable: str, example: str) -> list[str]:
    """The parts of a comma-separated list, none when it is unset; an empty one is refused."""
    value = text(variable)
    parts = [part.strip() for part in value.split(",")] if value else []
    if not all(parts):
        refuse(variable, f"is {value!r}, with an empty part: {example}")
    return parts


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
    return f"of at least {_plain(minimum)}" if maximum == math.inf else f"from {_plain(minimum)} to {_plain(maximum)}"


def _plain(value: float) -> str:
    """A number as a person writes it: 67108864, not 6.71089e+07."""
    return str(int(value)) if value == int(value) else f"{value:g}"
