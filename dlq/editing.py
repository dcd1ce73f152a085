"""Other arguments for one replay of a dead letter. The letter keeps its own, and the next plain replay runs with them.

What is masked for the person who edits never leaves here: it is kept as it is, or replaced as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from dlq.argument_text import kind_of, text_of, value_of
from dlq.errors import InvalidAction, NotReplayable
from dlq.models import DeadLetter, ForeignJob
from dlq.payloads import Shown, stored_arguments
from dlq.redirects import type_of
from dlq.signatures import ABSENT, LaidOut, call_of, is_required, lay_out, parameters_of, takes
from jobops.audit.recording import Change, record
from jobops.contracts.config import config
from jobops.contracts.error_text import storable_json
from jobops.contracts.job_type import JobType
from jobops.contracts.secret_values import DOTS
from jobops.engine.errors import InvalidJob, PayloadTooLarge
from jobops.engine.payload import encode, encode_result
from tenants.services import Actor

LONGEST_NAME = 80
MOST_NAMES = 20


class NoSuchArgument(InvalidAction):
    """Something else than an argument was to be edited: a name that the job's signature does not have."""


@dataclass(frozen=True, slots=True)
class Field:
    """One argument of the job. ``text``: its value, empty where none is given or it is ``masked``; ``given``: whether
    the letter has one; ``takes``: what the job says it takes."""

    name: str
    takes: str
    required: bool
    given: bool
    masked: bool
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """``payload``: the arguments as letters store them; ``changed``: names of those that the edit changes.
    ``replaced``: masked ones that it gives a value, maybe the one that they had, by their names in the letter too."""

    payload: str
    changed: Sequence[str]
    replaced: Sequence[str] = ()


class Editable:
    """A letter whose arguments are edited. ``mask``: whether the person sees them masked. ``left_over``: names of what
    the job of today takes no more, and what an edited replay leaves out.

    Raises ``NotReplayable`` if no registered type would run it.
    """

    def __init__(self, letter: DeadLetter, *, mask: bool = True) -> None:
        job_type = type_of(letter)
        if ForeignJob.objects.filter(letter=letter).exists():
            raise NotReplayable(letter.pk, "it is another installation's, which runs it as it was")
        if job_type is None:
            raise NotReplayable(letter.pk, f"job type {letter.job_type or 'without a name'} is not registered")
        self.letter = letter
        self.job_type: JobType = job_type
        shown = Shown(letter, mask=mask)
        hidden = {each.name for each in shown.argument_list() or () if each.masked}
        stored = shown.stored or ((), {})
        count = len(stored[0])
        own = shown.job_type
        called = own.argument_names(count) if own is not None else [f"args[{number}]" for number in range(count)]
        self._laid: LaidOut = lay_out(job_type, stored, called)
        # By the new type's own word too, where a redirect leads to one.
        self._hidden = {
            name
            for name, sources in self._laid.sources.items()
            if hidden.intersection(sources) or (mask and any(job_type.redacts(each) for each in (name, *sources)))
        }
        self.fields = [
            Field(
                each.name,
                takes(each),
                is_required(each),
                each.name in self._laid.values,
                each.name in self._hidden,
                self._text(each.name),
            )
            for each in parameters_of(job_type)
        ]
        self.left_over = list(self._laid.left_over)

    def edit(self, given: Mapping[str, str | None]) -> Edit:
        """The edit that ``given`` says: name → its new value as JSON text, empty to leave it out, None (as for every
        name that is not there) to keep it.

        Raises ``NoSuchArgument``, or ``InvalidAction`` naming the argument.
        """
        known = {each.name: each for each in self.fields}
        for name in given:
            if name not in known:
                raise NoSuchArgument(name[:LONGEST_NAME], f"is no argument of {self.job_type.name}, which takes"
                                     f" {', '.join(known) or 'none'}")  # fmt: skip
        values, replaced = dict(self._laid.values), set()
        for name, text in given.items():
            if text is None:
                continue
            # Whether it is what it was is not told of what is masked: or one would try values until it is.
            replaced |= {name} & self._hidden
            values.pop(name, None)
            if text.strip():
                values[name] = self._typed(known[name], text.strip())
        payload = self._payload(values)
        changed = [each.name for each in self.fields if each.name in replaced or self._differs(each.name, values)]
        changed += self.left_over
        if not changed:
            raise InvalidAction("arguments", "nothing is changed: a plain replay runs with these")
        return Edit(payload, changed, [each for name in sorted(replaced) for each in self._called(name)])

    def kinds(self, edit: Edit) -> Mapping[str, tuple[str, str]]:
        """Name → what it was and is, in words, for those that become another kind of value; of masked ones nothing."""
        args, kwargs = stored_arguments(edit.payload) or ((), {})
        now = lay_out(self.job_type, (args, kwargs), self.job_type.argument_names(len(args)))
        found = {}
        for name in edit.changed:
            was, then = self._laid.values.get(name, ABSENT), now.values.get(name, ABSENT)
            told = ABSENT in (was, then) or None in (was, then) or name in self._hidden
            if not told and kind_of(was) != kind_of(then):
                found[name] = (kind_of(was), kind_of(then))
        return found

    def _called(self, name: str) -> Sequence[str]:
        return list(dict.fromkeys([name, *self._laid.sources.get(name, ())]))

    def _text(self, name: str) -> str:
        is_shown = name in self._laid.values and name not in self._hidden
        return text_of(self._laid.values[name]) if is_shown else ""

    def _typed(self, field: Field, text: str) -> Any:
        value = value_of(text, field.name)
        if field.masked and DOTS in text_of(value):
            raise InvalidAction(field.name, "holds the dots of a mask: give the whole value, or keep it as it is")
        return value

    def _payload(self, values: Mapping[str, Any]) -> str:
        args, kwargs = call_of(self.job_type, values)
        names = self.job_type.argument_names(len(args))
        try:
            args, kwargs = self.job_type.bind(args, kwargs)
            data = encode(self.job_type.name, args, kwargs, limit=config().payload_limit, arg_names=names)
        except PayloadTooLarge as error:
            raise InvalidAction(*_too_large(error, values)) from None
        except InvalidJob as error:
            problem = str(error).removeprefix(f"{error.field}: ")
            raise InvalidAction(error.field, problem) from None
        _name, _instance, packed, named = json.loads(data)
        return storable_json(json.dumps({"args": packed, "kwargs": named}, ensure_ascii=False))

    def _differs(self, name: str, values: Mapping[str, Any]) -> bool:
        return _canonical(self._laid.values.get(name, ABSENT)) != _canonical(values.get(name, ABSENT))


def edit_refused(*, letter: DeadLetter, by: Actor, names: Sequence[str]) -> None:
    """Note in the audit that somebody tried to edit something else than an argument: these names."""
    told = [name[:LONGEST_NAME] for name in names[:MOST_NAMES]]
    with transaction.atomic():
        change = Change(
            "letter.edit_refused", "letter", letter.pk, letter.tenant_id, letter.tenant_slug, after={"fields": told}
        )
        record(by, change)


def _canonical(value: Any) -> str:
    """Equal for equal values of one type only: 1, 1.0 and true are three."""
    return "" if value is ABSENT else json.dumps(json.loads(encode_result(value)), sort_keys=True)


def _too_large(error: PayloadTooLarge, values: Mapping[str, Any]) -> tuple[str, str]:
    sizes = {name: len(encode_result(value)) for name, value in values.items()}
    largest = max(sizes, key=lambda name: sizes[name])
    whole = f"all arguments take {error.size:,} bytes as JSON, {error.limit:,} at most"
    return largest, f"takes {sizes[largest]:,} bytes, and {whole}; pass a reference to what is stored elsewhere"
