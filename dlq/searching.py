"""Finding letters by words in their search texts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import BooleanField, F, Func, Q, QuerySet, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan

from dlq.models import DeadLetter, SearchText
from dlq.searchable import words_of

FEW = 2_000
"""So many ids are named one by one; to look for more of them, letter by letter, is quicker."""

NEWEST = 100_000
"""So many letters are searched while a person waits for a page: all of a million take seconds."""

_SPECIAL = re.compile(r"[*?[]")
_NUMBER = re.compile(r"#?([0-9]{1,18})", re.ASCII)
_NUMBER_SIGN = "no."
"""Pages write a letter's number as ``No. 31``."""


class _Glob(Func):
    # Twice as fast as INSTR, and with LIKE it would be a question of case.
    template = "(%(expressions)s)"
    arg_joiner = " GLOB "
    output_field = BooleanField()


@dataclass(frozen=True, slots=True)
class Search:
    """The letters in whose search text every word occurs, or whose number it is.

    ``first``: the ids of those that were found first, the newest first: all there are if they are ``few``. ``since``:
    the id from which on letters were searched, beside ``named`` ones that the words name; None: all of them were.
    """

    words: list[str]
    first: list[int]
    is_few: bool = True
    since: int | None = None
    named: Sequence[int] = ()

    @property
    def few(self) -> list[int] | None:
        """The ids of all that were found, if they are few."""
        return self.first if self.is_few else None

    def in_order(self, letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
        """Those of the letters, to be read in some order and only so far: a page of them."""
        if self.is_few:
            return letters.filter(pk__in=self.first)
        return letters.filter(*self._where("search__"))

    def whole(self, letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
        """Those of the letters, to be counted or read to the end."""
        if self.is_few:
            return letters.filter(pk__in=self.first)
        return letters.filter(pk__in=SearchText.objects.filter(*self._where()).order_by().values("pk"))

    def _where(self, path: str = "") -> list[Q]:
        # Said of either table: of one alone, a database that joins them may read the other from its beginning.
        searched = [self._searched(each) for each in dict.fromkeys(("", path))] if self.since is not None else []
        return [*searched, *_all_of(self.words, path)]

    def _searched(self, path: str) -> Q:
        newest = Q(**{f"{path}pk__gte": self.since})
        return newest | Q(**{f"{path}pk__in": self.named}) if self.named else newest


def search(text: str, *, deep: bool = False) -> Search | None:
    """Look for the words of ``text``; None for a blank one. One without any letter or digit finds nothing: to pass it
    over would find everything. Unless it is ``deep``, only the newest ``NEWEST`` letters are searched, and those that
    a word names: by its number or its job's id. Four queries at most."""
    words = words_of(text)
    if not words:
        return Search([], []) if text.strip() else None
    newest = None if deep else SearchText.objects.order_by("-pk").values_list("pk", flat=True).first()
    since = newest - NEWEST + 1 if newest is not None and newest > NEWEST else None
    texts = SearchText.objects.filter(*_all_of(words))
    named: Sequence[int] = ()
    if since is not None:
        # An older letter that is named is found all the same.
        named = list(texts.filter(pk__in=_named(words), pk__lt=since).order_by("-pk").values_list("pk", flat=True))
        texts = texts.filter(pk__gte=since)
    first = [*texts.order_by("-pk").values_list("pk", flat=True)[: FEW + 1], *named]
    return Search(words, first, len(first) <= FEW, since, named)


def matching(letters: QuerySet[DeadLetter], text: str, *, deep: bool = False) -> QuerySet[DeadLetter]:
    """Those of the letters that a search for ``text`` finds; all of them for a blank one."""
    found = search(text, deep=deep)
    return found.whole(letters) if found else letters


def _named(words: list[str]) -> list[int]:
    numbers = [int(found[1]) for word in words if (found := _NUMBER.fullmatch(word))]
    return [*numbers, *DeadLetter.objects.filter(job_id__in=words).order_by().values_list("pk", flat=True)]


def _all_of(words: list[str], path: str = "") -> list[Q]:
    """One condition for each word. ``path``: from the queried model to the search texts."""
    found = []
    for word, following in zip(words, [*words[1:], ""], strict=True):
        number = _NUMBER.fullmatch(word)
        if number:
            # As everywhere in the text: a search for an invoice's number finds that invoice too.
            found.append(Q(_holds(f"{path}text", word)) | Q(**{f"{path}pk": int(number[1])}))
        elif word != _NUMBER_SIGN or not _NUMBER.fullmatch(following):
            found.append(Q(_holds(f"{path}text", word)))
    return found


def _holds(field: str, word: str) -> Any:
    if connection.vendor == "sqlite":
        literal = _SPECIAL.sub(r"[\g<0>]", word)
        return _Glob(F(field), Value(f"*{literal}*"))
    return GreaterThan(StrIndex(F(field), Value(word)), Value(0))
