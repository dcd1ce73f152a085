"""Files that appear whole, and folders that stay small. Needs nothing but Python: `dev` comes by here too."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def fresh_file(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that appears at ``path`` whole or not at all: readers and a killed writer never meet half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def keep_newest(folder: Path, keep: int) -> int:
    """Delete all but the newest ``keep`` files of a folder, also what killed writers left; answers how many went.

    Safe to run by several processes at once.
    """
    dated: list[tuple[float, Path]] = []
    for path in folder.iterdir() if folder.is_dir() else ():
        try:
            dated.append((path.stat().st_mtime, path))
        except FileNotFoundError:
            continue
    dated.sort(reverse=True)
    for _, path in dated[keep:]:
        path.unlink(missing_ok=True)
    return max(len(dated) - keep, 0)
