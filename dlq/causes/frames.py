"""The frames of our own code in a stored traceback: what two deaths of one cause have in common. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_FRAME = re.compile(r'^[ \t|+-]*File "([^"\n]+)", line \d+, in (.+)$', re.MULTILINE)
# Between the exceptions of a chain.
_LINKS = (
    "\nThe above exception was the direct cause of the following exception:\n",
    "\nDuring handling of the above exception, another exception occurred:\n",
)
_RAISED = re.compile(r"^([A-Za-z_][\w.]*)(?::|$)", re.MULTILINE)

_INSTALLED = re.compile(r"/(?:site|dist)-packages/")
_STANDARD = re.compile(r"/lib/python\d[\d.]*/|\.zip/")
_DIGITS = re.compile(r"\d{4}|^\d+$")
# Made by the compiler, and by some versions of Python only.
_NAMELESS = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})

_HERE = Path(__file__).resolve().parents[2]
_OURS = tuple(f"{_HERE.as_posix()}/{name}/" for name in ("jobops", "dlq", "tenants"))
_DEMO = f"{_HERE.as_posix()}/jobops/demo/"
_PARTS = frozenset(path.stem for path in (_HERE / "jobops").iterdir() if not path.name.startswith(("_", "."))) - {
    "demo"
}

MOST_FRAMES = 30
"""Innermost frames that count, each once: how deep a recursion went says nothing."""


class Trace(NamedTuple):
    """``frames``: each place of our own code once, the innermost last, as ``file function``; ``raised``: the classes
    of the errors that this one was raised from, the first one first."""

    frames: tuple[str, ...]
    raised: tuple[str, ...]

    @property
    def culprit(self) -> str:
        """The innermost place, in words; empty if there is none."""
        if not self.frames:
            return ""
        file, _, function = self.frames[-1].partition(" ")
        return f"{function} in {file}"


def trace_of(traceback: str, package: str = "") -> Trace:
    """What a traceback says of where it went wrong. ``package``: the one that the job's function is in, which is our
    own code also where it is installed."""
    # Without the last error's message, which varies: so that equal ones are read once.
    last = traceback.rfind("\n  ")
    end = traceback.find("\n", last + 1) if last >= 0 else -1
    return _read(traceback if end < 0 else traceback[:end], package)


@lru_cache(maxsize=512)
def _read(traceback: str, package: str) -> Trace:
    seen: dict[str, None] = {}
    for file, function in reversed(_FRAME.findall(traceback)):
        path = file.replace("\\", "/")
        if function not in _NAMELESS and _is_own(path, package):
            seen.setdefault(f"{_short(path)} {function}"[:200], None)
            if len(seen) == MOST_FRAMES:
                break
    return Trace(tuple(reversed(seen)), _raised(traceback))


def _is_own(path: str, package: str) -> bool:
    if path.startswith("<") or (_STANDARD.search(path) and not _INSTALLED.search(path)):
        return False
    installed = _INSTALLED.split(path)
    if len(installed) > 1:
        return bool(package) and (installed[-1].startswith(f"{package}/") or installed[-1] == f"{package}.py")
    if path.startswith(_OURS):
        return path.startswith(_DEMO)
    # Of a worker on another machine: ours by what comes after the package's name.
    _, found, rest = path.rpartition("/jobops/")
    return not (found and rest.split("/")[0].removesuffix(".py") in _PARTS)


def _short(path: str) -> str:
    """The file and its folder: what is above differs from machine to machine, and from release to release."""
    folder, _, name = path.rpartition("/")
    folder = folder.rpartition("/")[2]
    return f"{folder}/{name}" if folder and not _DIGITS.search(folder) else name


def _raised(traceback: str) -> tuple[str, ...]:
    parts = [traceback]
    for link in _LINKS:
        if link in traceback:
            parts = [piece for part in parts for piece in part.split(link)]
    found = []
    for part in parts[:-1]:
        # The last line that begins at the margin like an error; a message of many lines may follow it.
        names = [name for name in _RAISED.findall(part) if name != "Traceback"]
        found.append(names[-1] if names else "")
    return tuple(found[:10])
