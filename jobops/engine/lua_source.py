"""Reads the Lua commands: one file each, with its includes put in front."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_INCLUDE = re.compile(r"^-- @include (.+)$", re.MULTILINE)


@cache
def source(name: str) -> str:
    """The full text of the command ``name`` (its file's name without ``.lua``)."""
    folder = files("jobops.engine") / "lua"
    body = (folder / f"{name}.lua").read_text()
    match = _INCLUDE.search(body)
    if match is None:
        return body
    parts = [(folder / "include" / f"{part}.lua").read_text() for part in match.group(1).split()]
    return "\n".join([body[: match.start()], *parts, body[match.end() :]])


def read_all() -> None:
    """Reads all commands, so that this process and those it forks go on with the release they were started from, also
    when another one is installed in its place, and need no file later."""
    for name in names():
        source(name)


@cache
def names() -> list[str]:
    """The names of all commands."""
    folder = files("jobops.engine") / "lua"
    return sorted(entry.name[:-4] for entry in folder.iterdir() if entry.name.endswith(".lua"))
