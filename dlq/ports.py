"""What the dead-letter queue needs of whoever runs the engine, as a protocol that the runtime plugs."""

from collections.abc import Sequence
from typing import Protocol


class KeyHolders(Protocol):
    """Finds the jobs that hold keys."""

    def __call__(self, wanted: Sequence[tuple[str, str, str]], /) -> Sequence[str | None]:
        """For each (tenant, job type, key), in order: the id of the live job that holds it, or None.

        Raises what ``jobops.engine.link.is_away`` knows when Redis is away.
        """


def _nobody(wanted: Sequence[tuple[str, str, str]], /) -> Sequence[str | None]:
    return [None] * len(wanted)


_key_holders: KeyHolders = _nobody


def set_key_holders(holders: KeyHolders | None) -> None:
    """Look keys up through ``holders`` in this process from now on; None: nobody holds any."""
    global _key_holders
    _key_holders = holders or _nobody


def key_holders() -> KeyHolders:
    """What looks keys up in this process."""
    return _key_holders
