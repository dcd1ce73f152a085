"""What contracts need to know of the installation. Plugged by the runtime; the defaults are the product's own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from jobops.engine.payload import DEFAULT_LIMIT


@dataclass(frozen=True)
class ContractConfig:
    """``lanes``: the configured ones; the first is used where a contract names none. ``lease``: of a job type
    that gives none. ``heartbeat``: how often leases are renewed. ``payload_limit``: bytes of arguments."""

    lanes: tuple[str, ...] = ("interactive", "bulk")
    lease: timedelta = timedelta(seconds=30)
    heartbeat: timedelta = timedelta(seconds=5)
    payload_limit: int = DEFAULT_LIMIT

    @cached_property
    def lease_ms(self) -> int:
        """``lease`` in milliseconds."""
        return self.lease // timedelta(milliseconds=1)


_config = ContractConfig()


def configure(config: ContractConfig) -> None:
    """Use ``config`` in this process from now on."""
    global _config
    _config = config


def config() -> ContractConfig:
    """The configuration in use."""
    return _config
