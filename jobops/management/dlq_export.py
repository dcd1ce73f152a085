"""How ``manage.py dlq export`` writes: to the terminal, or to a file that is there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from jobops.management.base import Refused


def write_file(path: Path, pieces: Iterable[str]) -> None:
    """Write the pieces beside the file, then put it in its place. Raises ``Refused``."""
    if path.is_dir():
        raise Refused(f"--output: {path} is a directory; name a file")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # Newlines as they are: the two formats differ in them.
        with part.open("w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
        part.replace(path)
    except OSError as error:
        raise Refused(f"--output: {path} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            part.unlink()
