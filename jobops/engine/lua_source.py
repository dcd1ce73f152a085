"""Reads the Lua commands: one file each, with its includes, and theirs, put in front, each once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

# A script's functions are made anew by each call. One that uses a local of the chunk that it is made in costs a walk
# through all such locals; one that uses a local of a chunk around that costs nothing more. So these parts, and all
# after them, stand in a chunk of their own inside of what is before them.
_INNER = frozenset({"iso", "ring", "queue", "lease", "fail", "take"})

_INCLUDE = re.compile(r"^-- @include (.+)$", re.MULTILINE)


@cache
def source(name: str) -> str:
    """The full text of the command ``name`` (its file's name without ``.lua``)."""
    body = (files("jobops.engine") / "lua" / f"{name}.lua").read_text()
    match = _INCLUDE.search(body)
    if match is None:
        return body
    parts: dict[str, str] = {}
    _include(match.group(1).split(), parts)
    inner = _INNER & parts.keys()
    texts = [f"return (function()\n{text}" if name in inner else text for name, text in parts.items()]
    return "\n".join([body[: match.start()], *texts, body[match.end() :] + " ".join(["end)()"] * len(inner))])


def _include(wanted: Sequence[str], parts: dict[str, str]) -> None:
    """Puts what is wanted behind what it needs itself."""
    for part in wanted:
        if part not in parts:
            text = (files("jobops.engine") / "lua" / "include" / f"{part}.lua").read_text()
            match = _INCLUDE.search(text)
            _include(match.group(1).split() if match else (), parts)
            parts[part] = text


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
