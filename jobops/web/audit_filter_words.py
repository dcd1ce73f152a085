"""The filter of the audit's page: its form, and what it asks for in words. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from jobops.audit.filters import LONGEST, AuditFilter
from jobops.web import audit_own_words, audit_words

MOST = 200
"""Beyond this a list of choices becomes a field to type into."""

LABELS = {
    "who": "Who",
    "what": "What",
    "tenant": "Tenant",
    "target": "Done to",
    "request": "Request",
    "since": "Since",
    "until": "Until",
}
HINTS = {
    "tenant": "its slug",
    "target": "letter:58112",
    "request": "its id",
    "since": "2h, or 2026-03-12 03:00",
    "until": "1h, or 2026-03-12 04:00",
}
FOR_STAFF = ("target", "request")
Options = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Field:
    """An input of the form; ``fault``: why its value was passed over. ``groups``: of options, each with its heading;
    without any it is typed."""

    name: str
    label: str
    value: str
    fault: str
    hint: str
    groups: Sequence[tuple[str, Options]] = ()


@dataclass(frozen=True, slots=True)
class Word:
    """One thing that the filter asks for; ``without`` is the query string without it."""

    label: str
    value: str
    without: str


def filter_fields(
    params: Mapping[str, str],
    faults: Mapping[str, str],
    tenants: Sequence[str],
    *,
    staff: bool,
    hidden: Collection[str] = (),
) -> list[Field]:
    """The form as it was sent, so that what was passed over can be mended. ``hidden``: kinds of actions to leave out.

    A tenant's people need not know how things are called inside; who has one tenant is not asked which.
    """
    values = {name: "".join(filter(str.isprintable, params.get(name, "")))[:LONGEST] for name in LABELS}
    names = [name for name in LABELS if (staff or name not in FOR_STAFF) and name != "who"]
    if not staff and len(tenants) < 2:
        names.remove("tenant")
    groups = {
        "what": _with(_actions(hidden) if staff else [("", list(audit_own_words.CHOICES.items()))], values["what"]),
        "tenant": _with([("", [(slug, slug) for slug in tenants])], values["tenant"]) if len(tenants) <= MOST else [],
    }
    return [
        Field(name, LABELS[name], values[name], faults.get(name, ""), HINTS.get(name, ""), groups.get(name, []))
        for name in names
    ]


def filter_words(wanted: AuditFilter, *, staff: bool) -> list[Word]:
    """What the filter asks for, each with a way to be rid of it."""
    asked = {name: getattr(wanted, name) for name in LABELS}
    return [
        Word(
            LABELS[name],
            action_words(value, staff=staff) if name == "what" else value,
            wanted.as_query(**{name: ""}),
        )
        for name, value in asked.items()
        if value
    ]


def action_words(action: str, *, staff: bool) -> str:
    """An action, or a kind of them, as the form calls it; one that it does not offer as it is."""
    if not staff:
        return audit_own_words.CHOICES.get(action, action)
    if "." not in action:
        return _any_of(action)
    return _sentence(audit_words.DONE[action]) if action in audit_words.DONE else action


def _actions(hidden: Collection[str]) -> list[tuple[str, Options]]:
    """All actions, those of a kind together, under the kind as a whole."""
    groups: list[tuple[str, Options]] = []
    for kind, actions in groupby(audit_words.DONE, key=lambda action: action.partition(".")[0]):
        if kind not in hidden:
            whole = [(kind, _any_of(kind))]
            each = ((action, _sentence(audit_words.DONE[action])) for action in actions)
            groups.append(("cause" if kind == "group" else kind, [*whole, *each]))
    return groups


def _any_of(kind: str) -> str:
    return f"any of {kind}"


def _sentence(text: str) -> str:
    return text.replace("{}", "…").removesuffix(" …")


def _with(groups: list[tuple[str, Options]], value: str) -> list[tuple[str, Options]]:
    """The groups, and what is asked for though it is not offered."""
    known = {each for _heading, options in groups for each, _label in options}
    return [("", [(value, value)]), *groups] if value and value not in known else groups
