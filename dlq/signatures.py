"""A letter's stored arguments laid out over the signature that its job has today, and back into a call of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dlq.errors import InvalidAction
from dlq.payloads import Stored
from jobops.contracts.job_type import JobType

Parameter = inspect.Parameter
MOST_HINTED = 60


class Absent:
    """The value of an argument that is not given."""


ABSENT = Absent()


@dataclass(slots=True)
class LaidOut:
    """``values``: by parameter; of ``*rest`` a list, of ``**rest`` an object. ``sources``: for each of them, what its
    parts are called in the list of the letter's arguments. ``left_over``: what no parameter takes, by that name."""

    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, list[str]] = field(default_factory=dict)
    left_over: dict[str, Any] = field(default_factory=dict)

    def put(self, name: str, value: Any, source: str) -> None:
        self.values[name] = value
        self.sources.setdefault(name, []).append(source)


def parameters_of(job_type: JobType) -> list[Parameter]:
    """Its parameters, in order."""
    return list(job_type.signature.parameters.values())


def lay_out(job_type: JobType, stored: Stored, called: Sequence[str]) -> LaidOut:
    """The stored arguments over the parameters. ``called``: what the positional ones are called."""
    args, kwargs = stored
    found = LaidOut()
    parameters = parameters_of(job_type)
    placed = [each for each in parameters if each.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    many = next((each.name for each in parameters if each.kind is Parameter.VAR_POSITIONAL), None)
    rest = next((each.name for each in parameters if each.kind is Parameter.VAR_KEYWORD), None)
    for place, value in enumerate(args):
        if place < len(placed):
            found.put(placed[place].name, value, called[place])
        elif many is not None:
            found.put(many, [*found.values.get(many, []), value], called[place])
        else:
            found.left_over[called[place]] = value
    named = {each.name for each in parameters if each.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)}
    for name, value in kwargs.items():
        if name in named and name not in found.values:
            found.put(name, value, name)
        elif rest is not None and name not in named:
            found.put(rest, {**found.values.get(rest, {}), name: value}, name)
        else:
            found.left_over[name] = value
    return found


def call_of(job_type: JobType, values: Mapping[str, Any]) -> Stored:
    """The call that gives each parameter its value. Raises ``InvalidAction`` naming a parameter."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    parameters = parameters_of(job_type)
    many = next((each.name for each in parameters if each.kind is Parameter.VAR_POSITIONAL), "")
    has_many = bool(values.get(many)) if many else False
    skipped = ""
    for parameter in parameters:
        name, value = parameter.name, values.get(parameter.name, ABSENT)
        if parameter.kind is Parameter.VAR_POSITIONAL:
            args += _of(value, list, name)
        elif parameter.kind is Parameter.VAR_KEYWORD:
            kwargs |= _rest(_of(value, dict, name), name, job_type)
        elif value is ABSENT:
            if parameter.default is Parameter.empty:
                raise InvalidAction(name, "needs a value: the job cannot run without it")
            skipped = skipped or name
        elif parameter.kind is Parameter.POSITIONAL_ONLY or (has_many and parameter.kind is not Parameter.KEYWORD_ONLY):
            if skipped:
                raise InvalidAction(skipped, f"needs a value, as {name} after it has one")
            args.append(value)
        else:
            kwargs[name] = value
    if has_many and skipped and _is_placed(job_type, skipped):
        raise InvalidAction(skipped, f"needs a value, as {many} after it has one")
    return tuple(args), kwargs


def takes(parameter: Parameter) -> str:
    """What the parameter takes, as its author wrote it: ``int``, ``list of any length``; may be empty."""
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return "a list, any number of values"
    if parameter.kind is Parameter.VAR_KEYWORD:
        return "an object, any names"
    if parameter.annotation is Parameter.empty:
        return ""
    text = (
        parameter.annotation
        if isinstance(parameter.annotation, str)
        else inspect.formatannotation(parameter.annotation)
    )
    return text if len(text) <= MOST_HINTED else f"{text[: MOST_HINTED - 1]}…"


def is_required(parameter: Parameter) -> bool:
    """Whether the job cannot run without it."""
    rest = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return parameter.default is Parameter.empty and parameter.kind not in rest


def _of(value: Any, kind: type, name: str) -> Any:
    if value is ABSENT:
        return kind()
    if not isinstance(value, kind):
        raise InvalidAction(name, f"must be {'a list' if kind is list else 'an object'}")
    return value


def _rest(value: Mapping[str, Any], name: str, job_type: JobType) -> Mapping[str, Any]:
    for key in value:
        known = job_type.signature.parameters.get(key)
        if known is not None and known.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
            raise InvalidAction(name, f"holds {key}, which is an argument of its own")
    return value


def _is_placed(job_type: JobType, name: str) -> bool:
    return job_type.signature.parameters[name].kind is not Parameter.KEYWORD_ONLY
