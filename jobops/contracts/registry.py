"""The job types of this process, by name. A worker runs these and nothing else: names are never imported."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Literal

from jobops.contracts.errors import UnknownJobType
from jobops.contracts.job_type import JobType


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two types that want one name. ``loser`` does not get it: as its name, or as one of its aliases."""

    kind: Literal["name", "alias"]
    name: str
    holder: JobType
    loser: JobType


class Registry:
    """Job types by name and alias. The first to take a name keeps it, and names go before aliases."""

    def __init__(self) -> None:
        self._types: dict[str, JobType] = {}
        self._losers: list[JobType] = []

    def register(self, job_type: JobType) -> None:
        """Take a type in. Never raises: a second type of one name is kept as a conflict."""
        holder = self._types.get(job_type.name)
        if holder is None or _same_source(holder, job_type):
            self._types[job_type.name] = job_type
        else:
            self._losers.append(job_type)

    def resolve(self, name: str) -> JobType | None:
        """The type of this name, or else the one with this alias."""
        found = self._types.get(name)
        if found is not None:
            return found
        return next((job_type for job_type in self._types.values() if name in job_type.aliases), None)

    def get(self, name: str) -> JobType:
        """The type of this name or alias. Raises UnknownJobType, with the nearest names."""
        found = self.resolve(name)
        if found is None:
            raise UnknownJobType(name, sorted(self._types))
        return found

    def all(self) -> list[JobType]:
        """Every type, by name."""
        return [self._types[name] for name in sorted(self._types)]

    def conflicts(self) -> list[Conflict]:
        """Two types of one name, and aliases that hide a name or one another."""
        found = [Conflict("name", loser.name, self._types[loser.name], loser) for loser in self._losers]
        aliased: dict[str, JobType] = {}
        for job_type in self.all():
            for alias in job_type.aliases:
                holder = self._types.get(alias) or aliased.setdefault(alias, job_type)
                if holder is not job_type or alias == job_type.name:
                    found.append(Conflict("alias", alias, holder, job_type))
        return found


def _same_source(one: JobType, other: JobType) -> bool:
    # A module that is imported again declares its types again; that is no second type. A closure tells nothing:
    # the wrappers that a decorator makes all share one place in the source.
    first, second = inspect.unwrap(one.func), inspect.unwrap(other.func)
    if not (inspect.isfunction(first) and inspect.isfunction(second)) or first.__closure__ or second.__closure__:
        return first is second
    return _place(first.__code__) == _place(second.__code__)


def _place(code: CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_qualname


_registry = Registry()


def registry() -> Registry:
    """The registry of this process."""
    return _registry


def register(job_type: JobType) -> None:
    """Take a type into the registry of this process."""
    _registry.register(job_type)


def resolve(name: str) -> JobType | None:
    """The type of this name or alias, or None."""
    return _registry.resolve(name)


def get(name: str) -> JobType:
    """The type of this name or alias. Raises UnknownJobType."""
    return _registry.get(name)


def all_types() -> list[JobType]:
    """Every registered type, by name."""
    return _registry.all()


def names() -> frozenset[str]:
    """The names and aliases of all registered types."""
    return frozenset(name for job_type in all_types() for name in (job_type.name, *job_type.aliases))


@contextmanager
def temporary_registry() -> Iterator[Registry]:
    """Within it, an empty registry takes the place of this process's. For tests."""
    global _registry
    kept, _registry = _registry, Registry()
    try:
        yield _registry
    finally:
        _registry = kept
