"""Jobs of another team, which know nothing of us. Imported by RQ's own worker only."""

from __future__ import annotations

import os


class PaymentsDown(Exception):
    """A service that is away."""


def charge(customer: str, amount: int, *, token: str = "") -> str:
    """Fails until JOBS_MENDED is set."""
    if not os.environ.get("JOBS_MENDED"):
        raise PaymentsDown(f"no answer for {customer} with {token or 'no token'}")
    return f"charged {customer} {amount}"


def explode(marker: str) -> None:
    """Another cause."""
    raise ValueError(f"cannot read {marker}")
