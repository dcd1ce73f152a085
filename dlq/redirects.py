"""Standing redirects: letters of a job type that is not registered any more are replayed as another one, which is.

They lead one step and never further: a worker runs registered types only, whatever stands in the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.db import IntegrityError, transaction

from dlq.errors import InvalidAction, NotReplayable
from dlq.job_data import job_data
from dlq.models import DeadLetter, DeadLetterGroup, Redirect, State
from dlq.text import one_line
from jobops.audit.recording import Change, record
from jobops.contracts import registry
from jobops.contracts.job_type import JobType
from tenants.services import Actor, actor_name

LONGEST_TYPE = 255
LONGEST_NOTE = 200
MOST_CHECKED = 2_000
"""Letters whose arguments a preview holds against the new type."""
CHUNK = 200

Redirects = Mapping[str, JobType]
"""Name that is not registered → the registered type that a redirect leads to."""


@dataclass(frozen=True, slots=True)
class RedirectPreview:
    """What a redirect would do to the ``open`` letters of a type: of the first ``checked`` ones ``fit`` have arguments
    that the new type takes; of the others, why not → how many."""

    open: int = 0
    checked: int = 0
    fit: int = 0
    unfit: Mapping[str, int] = field(default_factory=dict)


def redirects_for(letters: Iterable[DeadLetter]) -> Redirects:
    """Where redirects lead these letters; no query where every type is registered, else one."""
    return redirects_of({letter.job_type for letter in letters})


def redirects_of(names: Iterable[str]) -> Redirects:
    """The same for names of job types. One that is registered is led nowhere: it runs as itself."""
    unknown = {name for name in names if name and registry.resolve(name) is None}
    if not unknown:
        return {}
    rows = Redirect.objects.filter(from_type__in=unknown).values_list("from_type", "to_type")
    return {old: found for old, new in rows if (found := registry.resolve(new)) is not None}


def type_of(letter: DeadLetter, redirects: Redirects | None = None) -> JobType | None:
    """The registered type that a replay of the letter runs; None if there is none. ``redirects``: ``redirects_for``,
    from whom has it already; a query else, if its own type is not registered."""
    if not letter.job_type:
        return None
    own = registry.resolve(letter.job_type)
    if own is not None:
        return own
    return (redirects_for([letter]) if redirects is None else redirects).get(letter.job_type)


def redirect_create(*, from_type: str, to_type: str, by: Actor, note: str = "") -> Redirect:
    """Have letters of ``from_type`` replayed as ``to_type`` from now on.

    Redirects that lead to ``from_type`` lead to ``to_type`` afterwards: none is ever followed twice.
    Raises ``InvalidAction`` naming the field.
    """
    old, new = _old(from_type), _new(to_type, from_type)
    text = one_line(note.strip(), LONGEST_NOTE + 1)
    if len(text) > LONGEST_NOTE:
        raise InvalidAction("note", f"at most {LONGEST_NOTE} characters")
    try:
        with transaction.atomic():
            return _created(old, new, text, by)
    except IntegrityError:
        raise InvalidAction("from_type", f"there is a redirect of {old} already: remove it first") from None


def redirect_doubt(from_type: str) -> str:
    """Why a redirect of this name may be a slip of the pen, as the end of a sentence; empty if there is no doubt."""
    if DeadLetterGroup.objects.filter(job_type=from_type.strip()).exists():
        return ""
    return "no dead letter was ever of this type: is the old name spelled right?"


def redirect_delete(*, redirect_id: int, by: Actor) -> Redirect:
    """Take a redirect back; answers it. Raises ``InvalidAction`` if it is gone."""
    with transaction.atomic():
        found = Redirect.objects.select_for_update().filter(pk=redirect_id).first()
        if found is None:
            raise InvalidAction("redirect", "it is not there any more")
        Redirect.objects.filter(pk=found.pk).delete()
        record(by, _change("redirect.delete", found.from_type, before={"to": found.to_type}))
    return found


def redirect_preview(from_type: str, to_type: str) -> RedirectPreview:
    """What the redirect would do now. Raises ``InvalidAction`` as ``redirect_create``."""
    old = _old(from_type)
    target = registry.get(_new(to_type, old))
    letters = DeadLetter.objects.filter(state=State.OPEN, job_type=old)
    unfit: Counter[str] = Counter()
    checked = 0
    payloads = letters.order_by("due_at", "pk").values_list("pk", "payload")[:MOST_CHECKED]
    for pk, payload in payloads.iterator(chunk_size=CHUNK):
        checked += 1
        if why := _why_unfit(target, pk, payload):
            unfit[why] += 1
    return RedirectPreview(letters.count(), checked, checked - unfit.total(), dict(unfit.most_common()))


def _created(old: str, new: str, note: str, by: Actor) -> Redirect:
    if Redirect.objects.filter(from_type=new).exists():
        raise InvalidAction("to_type", f"there is a redirect of {new} itself: remove it first")
    made = Redirect.objects.create(from_type=old, to_type=new, note=note, by=actor_name(by))
    moved = list(Redirect.objects.select_for_update().filter(to_type=old).order_by("pk"))
    Redirect.objects.filter(pk__in=[each.pk for each in moved]).update(to_type=new)
    record(by, _change("redirect.create", old, after={"to": new}, reason=note))
    for each in moved:
        record(by, _change("redirect.set", each.from_type, before={"to": old}, after={"to": new}))
    return made


def _old(name: str) -> str:
    text = name.strip()
    if not text or len(text) > LONGEST_TYPE or not text.isprintable():
        raise InvalidAction("from_type", f"must be the name that letters have, 1 to {LONGEST_TYPE} characters")
    if registry.resolve(text) is not None:
        raise InvalidAction("from_type", f"{text} is registered: its letters are replayed as what they are")
    return text


def _new(name: str, old: str) -> str:
    """The registered type's own name. What is not registered is never run, so that no redirect may lead there."""
    text = name.strip()
    if not text:
        raise InvalidAction("to_type", "choose a registered job type")
    if text == old.strip():
        raise InvalidAction("to_type", "it would lead to itself")
    found = registry.resolve(text)
    if found is None:
        raise InvalidAction("to_type", f"{one_line(text, 80)} is not registered; choose a registered job type")
    return found.name


def _why_unfit(target: JobType, letter_id: int, payload: str) -> str:
    try:
        job_data(letter_id, payload, target)
    except NotReplayable as error:
        return error.why
    return ""


def _change(
    action: str,
    name: str,
    before: Mapping[str, str] | None = None,
    after: Mapping[str, str] | None = None,
    reason: str = "",
) -> Change:
    return Change(action, "redirect", name, before=before or {}, after=after or {}, reason=reason)
