"""How far a job says that it is, in words and as a bar. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from jobops.web.formats import NBSP, number


@dataclass(frozen=True, slots=True)
class ProgressLine:
    """``text``: so many of so many; ``share``: per cent. ``filled``: 0 to 100, None: the whole is not known."""

    text: str
    share: str = ""
    filled: int | None = None


def progress_line(progress: tuple[int, int] | None) -> ProgressLine | None:
    """The line for done and total; None where nothing was said. A total of 0: not known."""
    if progress is None:
        return None
    done, total = progress
    if not total:
        return ProgressLine(f"{number(done)} done")
    filled = max(0, min(100, done * 100 // total))
    return ProgressLine(f"{number(done)} of {number(total)} done", f"{filled}{NBSP}%", filled)
