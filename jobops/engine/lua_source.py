"""Reads the Lua commands: one file each, with its includes, and theirs, put in front, each once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

# A script's functions are made anew by each call. One that uses a local of the chunk that it is made in costs a walk
# through all such locals; one that uses a local of a chunk around that costs nothing more. So these parts, and all
# after them, stand in a chunk of their own inside of what is before them.
_INNER = frozenset({"iso", "ring", "queue", "lease", "fail", "take"})

_INCLUDE = re.compile(r"^-- @include (.+)$", re.MULTILINE)
_LATE = re.compile(r"^-- @late (.+)\n", re.MULTILINE)
_FUNCTION = re.compile(r"^local function (\w+)\(", re.MULTILINE)
_CONSTANT = re.compile(r"^local [A-Z_]+ = [^{\n]*\n", re.MULTILINE)
_COMMENT = re.compile(r"--[^\n]*")

_LATE_TEXT = """\
local makers = {} -- of parts that are seldom needed
local seldom = setmetatable({}, {__index = function(seldom, name)
  while makers[1] do
    for each, made in pairs(table.remove(makers)()) do rawset(seldom, each, made) end
    if rawget(seldom, name) then return rawget(seldom, name) end
  end
end})
"""


@cache
def source(name: str) -> str:
    """The full text of the command ``name`` (its file's name without ``.lua``).

    A command names parts that it seldom needs as ``@late``: their functions are made when the first of one line of them
    is called, so that other calls of the command do not pay for them. Such a part hands out its functions and its
    constants, and nothing else. (A function of Lua 5.1 reaches 60 locals of others: hence not one line for all.)
    """
    body = (files("jobops.engine") / "lua" / f"{name}.lua").read_text()
    match = _INCLUDE.search(body)
    if match is None:
        return body
    parts: dict[str, str] = {}
    _include(match.group(1).split(), parts)
    head, body = body[: match.start()], body[match.end() :]
    late = [line.split() for line in _LATE.findall(body)]
    if late:
        parts, body = _made_late(parts, late, _LATE.sub("", body))
    inner = _INNER & parts.keys()
    texts = [f"return (function()\n{text}" if part in inner else text for part, text in parts.items()]
    return "\n".join([head, *texts, body + " ".join(["end)()"] * len(inner))])


def _include(wanted: Sequence[str], parts: dict[str, str]) -> None:
    """Puts what is wanted behind what it needs itself."""
    for part in wanted:
        if part not in parts:
            text = (files("jobops.engine") / "lua" / "include" / f"{part}.lua").read_text()
            match = _INCLUDE.search(text)
            _include(match.group(1).split() if match else (), parts)
            parts[part] = text


def _made_late(parts: Mapping[str, str], late: Sequence[Sequence[str]], body: str) -> tuple[dict[str, str], str]:
    """The same parts and body: each line of late parts is made by a function of its own behind all others, and what
    anything else calls of them is asked of ``seldom``."""
    texts = ["\n".join(text for part, text in parts.items() if part in line) for line in late]
    functions = [set(_FUNCTION.findall(text)) for text in texts]
    every = set().union(*functions)
    made = {"": _LATE_TEXT}
    made |= {part: _asking(text, every) for part, text in parts.items() if not any(part in line for line in late)}
    constants = [constant for text in texts for constant in _CONSTANT.findall(text)]
    makers = [_maker(_asking(text, every - own), own) for text, own in zip(texts, functions, strict=True)]
    made["late"] = "".join([*constants, *makers])
    return made, _asking(body, every)


def _maker(text: str, functions: Collection[str]) -> str:
    handed_out = "".join(f"  {each} = {each},\n" for each in sorted(functions))
    return f"makers[#makers + 1] = function()\n{_CONSTANT.sub('', text)}\nreturn {{\n{handed_out}}}\nend\n"


def _asking(text: str, functions: Collection[str]) -> str:
    """``f(`` and ``pcall(f,`` become ``seldom.f(`` and ``pcall(seldom.f,``, but in comments."""
    if not functions:
        return text
    called = re.compile(rf"(?<![\w.'])({'|'.join(sorted(functions))})(?=\(|, | ?\))")
    return "".join(piece if comment else called.sub(r"seldom.\1", piece) for piece, comment in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is a comment."""
    end = 0
    for comment in _COMMENT.finditer(text):
        yield text[end : comment.start()], False
        yield comment.group(), True
        end = comment.end()
    yield text[end:], False


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
