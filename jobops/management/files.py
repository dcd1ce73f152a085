"""Files that commands write, named by ``--output``."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from jobops.management.base import Refused

_MODE = 0o644


def write_whole(path: Path, content: str) -> None:
    """Put ``content`` into the file, which is there as a whole or as it was before, with the mode that it had.

    Raises Refused for what is no file, and where it cannot be written.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            raise Refused(f"--output: {path} is no file; name one to write to")
        if target.exists() and not os.access(target, os.W_OK):
            raise Refused(f"--output: {path} cannot be written: it is read-only")
        mode = target.stat().st_mode & 0o777 if target.exists() else _MODE
        _replace(target, content, mode)
    except (OSError, RuntimeError, ValueError) as error:  # the latter two: links in a circle, a NUL in the name
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Refused(f"--output: {path} cannot be written: {reason}") from error


def _replace(target: Path, content: str, mode: int) -> None:
    handle, draft = tempfile.mkstemp(prefix=f".{target.name[:50]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).chmod(mode)
        Path(draft).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(draft).unlink()
        raise
