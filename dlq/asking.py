"""What the filters of letters and of causes have in common: how they are read from an address, and written into one."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any, ClassVar, NamedTuple, Self
from urllib.parse import urlencode

from dlq.access import MAX_ID
from dlq.drained_in import drained_in, drained_words
from jobops.contracts import durations

LONGEST_VALUE = 200
LONGEST_LIST = 1_000
"""Characters of a list of numbers."""

SWITCHES = ("overdue", "deep")
"""What is asked or not, and has no value beside."""

ME, NOBODY, MINE = "me", "none", "mine"
"""What an assignee can be beside a login, and an owner beside a team's name."""


class Word(NamedTuple):
    """One thing that a filter asks for, as people read it; ``without`` is the query string without it."""

    name: str
    label: str
    value: str
    without: str


class Asking:
    """A frozen dataclass whose compared fields are parameters of an address. A field at its default asks nothing."""

    __slots__ = ()

    labels: ClassVar[Mapping[str, str]] = {}
    """What each is called beside its value; what is not here is no word."""

    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Parameter → what it is unless asked."""
        return {field.name: field.default for field in fields(cls) if field.compare}  # type: ignore[arg-type]

    @classmethod
    def parse(cls, params: Mapping[str, str]) -> tuple[Self, dict[str, str]]:
        """The filter that a query string asks for, and what of it was passed over: parameter → what would be right.

        Never raises: whatever cannot be meant is left out, and said.
        """
        values: dict[str, Any] = {}
        faults: dict[str, str] = {}
        for name in cls.defaults():
            text = str(params.get(name) or "").strip()
            if not text:
                continue
            try:
                values[name] = _read(name, text, cls.choices.get(name))
            except ValueError as error:
                faults[name] = str(error)
        return cls(**values), faults

    def as_query(self, **changes: Any) -> str:
        """The query string that ``parse`` reads as this filter with these changes; defaults are left out."""
        return urlencode(dict(replace(self, **changes).asked()))  # type: ignore[type-var]

    def words(self) -> list[Word]:
        """What it asks for, one by one."""
        defaults = self.defaults()
        return [
            Word(name, self.labels[name], self.shown(name, value), self.as_query(**{name: defaults[name]}))
            for name, value in self.asked()
            if name in self.labels
        ]

    def asked(self) -> Iterator[tuple[str, str]]:
        """Each parameter that asks something, and its value as it is written."""
        for name, default in self.defaults().items():
            value = getattr(self, name)
            if value != default:
                yield name, written(value)

    def shown(self, name: str, value: str) -> str:
        """A value as people read it."""
        plain = {(MINE, "owner"): "my teams", (ME, "assignee"): "me", (NOBODY, "assignee"): "nobody"}
        if name == "drained":
            return drained_words(value)
        return "yes" if name == "overdue" else plain.get((value, name), value)


def written(value: Any) -> str:
    """A value as it stands in an address."""
    if isinstance(value, timedelta):
        return durations.show(value)
    return "1" if value is True else str(value)


def numbers_in(text: str) -> list[int]:
    """The ids of a list with commas, each once. Raises ``ValueError`` for what is none."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 0 < int(part[:20]) <= MAX_ID for part in parts):
        raise ValueError("must be numbers, with commas between them")
    return list(dict.fromkeys(int(part) for part in parts))


def names_in(text: str) -> list[str]:
    """The names of a list with commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _read(name: str, text: str, choices: tuple[str, ...] | None) -> Any:
    longest = LONGEST_LIST if name == "group" else LONGEST_VALUE
    if len(text) > longest:
        raise ValueError(f"longer than {longest:,} characters")
    if not text.isprintable():
        raise ValueError("holds characters that cannot be seen")
    if choices is not None and text not in choices:
        raise ValueError(f"must be one of {', '.join(choices)}")
    if name in SWITCHES:
        if text not in ("0", "1"):
            raise ValueError("must be 1 or nothing")
        return text == "1"
    if name == "older_than":
        return durations.parse(text)
    if name == "group":
        return ",".join(str(number) for number in numbers_in(text))
    return drained_in(text) if name == "drained" else text
