"""The form in which a dead letter's arguments are edited: what each field shows, and what a posted form asks for.

An argument has a field ``value.<name>``: JSON, empty to leave it out. One that is masked has ``how.<name>`` beside it:
it is kept as it is unless the form says otherwise, and its value is never in the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dlq.editing import Editable, Field

VALUE, HOW = "value.", "how."
KEEP, SET, OUT = "keep", "set", "out"
BEGIN, FROM_START = "begin", "start"
OTHERS = frozenset({"csrfmiddlewaretoken", BEGIN, "seen", "again"})
"""What a form has beside its arguments."""

MOST_ROWS, FEWEST_ROWS = 24, 1
WIDE = 72
ARGUMENTS = "arguments"
"""The field of what is wrong with all of them together."""


@dataclass(frozen=True, slots=True)
class Row:
    """One argument in the form. ``how``: what becomes of a masked one; ``problem``: what is wrong with it."""

    field: Field
    text: str
    how: str = SET
    problem: str = ""

    @property
    def rows(self) -> int:
        """Lines of its field."""
        lines = sum(1 + len(line) // WIDE for line in self.text.split("\n"))
        return max(FEWEST_ROWS, min(MOST_ROWS, lines))

    @property
    def value_name(self) -> str:
        return f"{VALUE}{self.field.name}"

    @property
    def how_name(self) -> str:
        return f"{HOW}{self.field.name}"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a posted form asks for. ``given``: as ``Editable.edit`` takes it; ``problems``: by argument; ``strange``:
    names of what is no part of such a form; ``begin``: where the job is to begin; ``seen``: how often the letter had
    been replayed when the form was made, None if it does not say."""

    rows: Sequence[Row]
    given: Mapping[str, str | None]
    problems: Mapping[str, str] = field(default_factory=dict)
    strange: Sequence[str] = ()
    begin: str = FROM_START
    seen: int | None = None

    def with_problem(self, name: str, problem: str) -> Asked:
        """The same, with what is wrong beside its field; of no field in particular, above all of them."""
        rows = [replace(row, problem=problem) if row.field.name == name else row for row in self.rows]
        return replace(self, rows=rows, problems={**self.problems, name: problem})

    @property
    def above(self) -> Sequence[tuple[str, str]]:
        """Problems that belong to no field: (what, problem)."""
        names = {row.field.name for row in self.rows}
        return [(name, problem) for name, problem in self.problems.items() if name not in names]


def blank(editable: Editable) -> Asked:
    """The form as it is first shown."""
    rows = [Row(each, each.text, KEEP if each.masked else SET) for each in editable.fields]
    return Asked(rows, {})


def asked_for(form: Mapping[str, str], editable: Editable) -> Asked:
    """What the form asks for. Never raises: what cannot be is in ``problems`` and ``strange``."""
    known = {name for each in editable.fields for name in (f"{VALUE}{each.name}", f"{HOW}{each.name}")}
    rows, given, problems = [], {}, {}
    for each in editable.fields:
        text = form.get(f"{VALUE}{each.name}")
        how = form.get(f"{HOW}{each.name}", KEEP) if each.masked else SET
        problem = _problem(how, (text or "").strip()) if each.masked else ""
        if problem:
            problems[each.name] = problem
        elif text is not None and how != KEEP:
            given[each.name] = "" if how == OUT else text
        rows.append(Row(each, each.text if text is None else text, how, problem))
    strange = [name for name in form if name not in known and name not in OTHERS]
    seen = form.get("seen", "")
    return Asked(rows, given, problems, strange, form.get(BEGIN, FROM_START), int(seen) if _is_number(seen) else None)


def sentence(problem: str) -> str:
    """A problem as a sentence of its own."""
    return f"{problem[:1].upper()}{problem[1:]}."


def title_of(editable: Editable) -> str:
    """The page in one sentence."""
    return f"Replay {editable.job_type.name.rpartition('.')[2]} once, with other arguments"


def _problem(how: str, text: str) -> str:
    if how not in (KEEP, SET, OUT):
        return "choose what happens to it"
    if how == SET and not text:
        return "give the new value, or keep it as it is"
    if how != SET and text:
        return "a new value is given: say that it replaces the other, or leave the field empty"
    return ""


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
