"""A traceback's text taken apart into frames, those of our own code told from those of libraries.

Pure: it works on the text alone and reads no source file, since a path in a job's record may be any path.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

from jobops.web.formats import listed, plural

log = logging.getLogger(__name__)

Package = tuple[str, ...]
STDLIB, UNKNOWN = "the standard library", "other code"
"""What a frame's library is called that has no name of its own."""

FIRST, LAST = 5, 20
"""Of very many frames only so many are shown one by one."""

MOST_LINES = 10
"""Lines of source of one frame: a statement may stand on several."""

TOGETHER = 25
"""Of very many library frames in a row, so many of the first and of the last are shown."""

MOST_STACKS = 20
"""Exceptions of one chain that are shown, the last ones."""

MOST_NAMES = 3
"""Libraries that are named of those that frames in a row are of."""

_FRAME = re.compile(r'  File "(?P<path>[^"]+)", line (?P<line>\d{1,9})(?:, in (?P<function>.+))?', re.ASCII)
_GROUP = re.compile(r"^ {2,}(?:\| |\+ )")
_INSTALLED = re.compile(r"/(?:site|dist)-packages/")
_STDLIB = re.compile(r"/lib(?:64)?/python3\.\d+/")
_STARTS = ("Traceback (most recent call last)", "Exception Group Traceback (most recent call last)")
_CHAINS = {
    "The above exception was the direct cause of the following exception:": "That was the direct cause of:",
    "During handling of the above exception, another exception occurred:": "While that was handled:",
}
# Of ours that no job's author wants to read; the demo's jobs are jobs like any other.
_MACHINERY = frozenset({"engine", "contracts", "context", "runtime", "scheduling", "steward"})


@dataclass(frozen=True, slots=True)
class Frame:
    """One call. ``path`` is short; ``source``: the line that ran; ``library``: whose it is, empty for our own code."""

    path: str
    line: int
    function: str
    source: tuple[str, ...] = ()
    library: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """Frames in a row: a single one of our own, or some of libraries, which are shown folded under ``label``.

    ``count``: how many they are, also those that are left out.
    """

    frames: Sequence[Frame]
    own: bool
    label: str = ""
    raised: bool = False
    count: int = 1


@dataclass(frozen=True, slots=True)
class Stack:
    """The frames of one exception, innermost last. ``link``: how it follows from the one before; ``said``: the
    exception's own lines."""

    blocks: Sequence[Block]
    link: str
    said: str


@dataclass(slots=True)
class _Draft:
    link: str = ""
    frames: list[Frame] = field(default_factory=list)
    sources: list[list[str]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


def parse(text: str, own: Collection[Package] = ()) -> list[Stack]:
    """The exceptions of a traceback, the last one last; empty for a text that is none. Never raises.

    ``own``: packages, as paths, whose code is ours wherever it is installed: ``("shop",)``, ``("jobops", "demo")``.
    """
    try:
        drafts = [draft for draft in _drafts(text) if draft.frames]
        stacks = [_stack(draft, own) for draft in drafts[-MOST_STACKS:]]
    except Exception:  # whatever an error quotes, the text itself is there to be read
        log.exception("a traceback cannot be taken apart; it is shown as it is")
        return []
    if len(drafts) > MOST_STACKS:
        stacks[0] = replace(stacks[0], link=f"The last {MOST_STACKS} of {plural(len(drafts), 'exception')}:")
    return stacks


def _drafts(text: str) -> Iterator[_Draft]:
    draft, grouped = _Draft(), _STARTS[1] in text
    for raw in text.splitlines():
        line = _GROUP.sub("", raw) if grouped else raw
        link = _CHAINS.get(line.strip())
        if link or line.startswith(_STARTS):
            if draft.frames or draft.said:
                yield draft
                draft = _Draft()
            draft.link = link or draft.link
        else:
            _take(draft, line)
    yield draft


def _take(draft: _Draft, line: str) -> None:
    found = _FRAME.fullmatch(line)
    if found and not draft.said:
        draft.frames.append(Frame(found["path"], int(found["line"]), found["function"] or ""))
        draft.sources.append([])
    elif not draft.frames:
        return
    elif line.startswith("    ") and not draft.said:
        if len(draft.sources[-1]) < MOST_LINES and not _is_marks(line):
            draft.sources[-1].append(line[4:])
    elif line.startswith("  [Previous line repeated") and not draft.said:
        draft.frames[-1] = replace(draft.frames[-1], note=line.strip(" []"))
    elif line.strip() or draft.said:
        draft.said.append(line)


def _is_marks(line: str) -> bool:
    """Whether it only points at a part of the line above it."""
    return not line.strip(" \t^~") and not line.isspace()


def _stack(draft: _Draft, own: Collection[Package]) -> Stack:
    frames = [
        replace(frame, path=short(frame.path, own), source=tuple(source), library=library_of(frame.path, own))
        for frame, source in zip(draft.frames, draft.sources, strict=True)
    ]
    blocks: list[Block] = []
    for ours, run in groupby(frames, key=lambda frame: not frame.library):
        group = list(run)
        if ours:
            blocks += [Block([frame], True, raised=frame is frames[-1]) for frame in group]
        else:
            blocks.append(_folded(group))
    return Stack(_without_middle(blocks), draft.link, "\n".join(draft.said).strip())


def _folded(group: list[Frame]) -> Block:
    names = sorted({frame.library for frame in group}, key=lambda name: (name in (STDLIB, UNKNOWN), name))
    if len(names) > MOST_NAMES:
        names = [*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"]
    label = f"{plural(len(group), 'frame')} of {listed(names)}"
    if len(group) <= 2 * TOGETHER:
        return Block(group, False, label, count=len(group))
    few = [*group[:TOGETHER], *group[-TOGETHER:]]
    return Block(few, False, f"{label}; the first and the last {TOGETHER} of them", count=len(group))


def _without_middle(blocks: list[Block]) -> list[Block]:
    # A recursion has hundreds of the same frame; the text below has them all.
    if len(blocks) <= FIRST + LAST + 1:
        return blocks
    middle = sum(block.count for block in blocks[FIRST:-LAST])
    return [*blocks[:FIRST], Block((), False, f"{plural(middle, 'frame')} in between"), *blocks[-LAST:]]


def library_of(path: str, own: Collection[Package] = ()) -> str:
    """Whose code a file is: a library's name, or the empty string for our own."""
    if path.startswith("<"):
        return STDLIB if path.startswith("<frozen") else UNKNOWN
    clean = path.replace("\\", "/")
    installed = _INSTALLED.split(clean)[-1] if _INSTALLED.search(clean) else ""
    if installed:
        parts = tuple(installed.split("/"))
        if any(parts[: len(package)] == package for package in own):
            return ""
        return "jobops" if _is_machinery(parts) else parts[0].removesuffix(".py")
    if _STDLIB.search(clean):
        return STDLIB
    parts = tuple(clean.split("/"))
    return "jobops" if _is_machinery(parts) else ""


def short(path: str, own: Collection[Package] = ()) -> str:
    """The path from its package on, where that can be told: ``billing/capture.py``."""
    clean = path.replace("\\", "/")
    for pattern in (_INSTALLED, _STDLIB):
        if pattern.search(clean):
            return pattern.split(clean)[-1]
    parts = tuple(clean.split("/"))
    for package in [*own, *(("jobops", name) for name in sorted(_MACHINERY))]:
        for index in range(len(parts) - len(package)):
            if parts[index : index + len(package)] == package:
                return "/".join(parts[index:])
    return path


def _is_machinery(parts: Sequence[str]) -> bool:
    return any(a == "jobops" and b in _MACHINERY for a, b in pairwise(parts))
