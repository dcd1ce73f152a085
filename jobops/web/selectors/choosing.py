"""Which letters a form means: those ticked one by one, or all that match a filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

from django.db.models import QuerySet
from django.http import QueryDict

from dlq.access import MAX_ID, letters_visible_to
from dlq.asking import ME, MINE
from dlq.bulk import TICKED
from dlq.errors import InvalidAction
from dlq.filters import DEFAULTS, LetterFilter, parse
from dlq.models import DeadLetter
from dlq.people import teams_of
from dlq.text import one_line
from tenants.access import AnyUser, sees_all

MOST_TICKED = 1_000
"""Many times what a page shows; a longer list is no list of ticks."""

NO_FILTERS = {"after", "before", "page", "per_page", "by"}
"""What an address may say of the place in the list, and of which list."""

STAFF_FILTERS = {"job", "owner", "assignee", "severity", "reason", "error"}
"""For a tenant's people there are no such filters: what they find would tell what their pages do not say."""

MOST_TOLD, LONGEST_NAME = 3, 40


@dataclass(frozen=True, slots=True)
class Chosen:
    """The letters, in no order, and how they were chosen. ``ticked``: how many were named one by one."""

    letters: QuerySet[DeadLetter]
    how: str
    ticked: int = 0


def chosen_letters(user: AnyUser, form: QueryDict) -> Chosen:
    """What ``all`` and ``query``, or ``ids``, mean among the letters that exist for this person: what is foreign is
    left out as what does not exist. Raises ``InvalidAction`` when nothing is meant, or cannot be told for certain."""
    letters = letters_visible_to(user)
    if form.get("all"):
        asked = filter_of(user, form)
        return Chosen(asked.apply(letters), for_all(user, asked).as_query())
    ids = {int(text) for text in form.getlist("ids") if text.isascii() and text.isdigit() and len(text) < 20}
    if not ids or len(ids) > MOST_TICKED:
        raise InvalidAction("ids", "nothing is ticked" if not ids else f"at most {MOST_TICKED:,} can be ticked")
    return Chosen(letters.filter(pk__in=[pk for pk in ids if pk <= MAX_ID]), TICKED, len(ids))


def asked_of(user: AnyUser, params: Mapping[str, str]) -> tuple[LetterFilter, dict[str, str]]:
    """The filter that an address asks for, and what of it was passed over, and why: an unknown filter too, as without
    it more letters are meant than whoever wrote it thinks."""
    known = DEFAULTS.keys() if sees_all(user) else DEFAULTS.keys() - STAFF_FILTERS
    asked, faults = parse({name: value for name, value in params.items() if name in known})
    asked = replace(asked, me=user.pk)
    unknown = [name for name in params if name not in known and name not in NO_FILTERS]
    return asked, faults | {one_line(name, LONGEST_NAME): "there is no such filter" for name in unknown[:MOST_TOLD]}


def for_all(user: AnyUser, asked: LetterFilter) -> LetterFilter:
    """The same filter in words that mean the same to everybody who reads them: whom me and mine stood for."""
    login, teams = user.get_username(), ",".join(teams_of(user.pk))
    asked = replace(asked, assignee=login) if asked.assignee == ME else asked
    return replace(asked, owner=teams) if asked.owner == MINE and teams else asked


def filter_of(user: AnyUser, form: QueryDict) -> LetterFilter:
    """The filter in ``query``. Raises ``InvalidAction`` for one that is not understood as a whole: passing over a part
    of it would mean more letters than anybody saw."""
    asked, faults = asked_of(user, dict(parse_qsl(form.get("query", ""))))
    for name, problem in faults.items():
        raise InvalidAction(name, f"the filter “{name}” is not understood: {problem}")
    return asked
