"""Finding letters by words in their search texts."""

import re
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
    """The letters in whose search text every word occurs, or whose number it is. ``few``: their ids, if few."""

    words: list[str]
    few: list[int] | None

    def in_order(self, letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
        """Those of the letters, to be read in some order and only so far: a page of them."""
        if self.few is not None:
            return letters.filter(pk__in=self.few)
        return letters.filter(*_all_of(self.words, "search__"))

    def whole(self, letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
        """Those of the letters, to be counted or read to the end."""
        if self.few is not None:
            return letters.filter(pk__in=self.few)
        return letters.filter(pk__in=_texts(self.words).values("pk"))


def search(text: str) -> Search | None:
    """Look for the words of ``text`` in one query; None for a blank one. One without any letter or digit finds nothing:
    to pass it over would find everything."""
    words = words_of(text)
    if not words:
        return Search([], []) if text.strip() else None
    first = list(_texts(words).values_list("pk", flat=True)[: FEW + 1])
    return Search(words, first if len(first) <= FEW else None)


def matching(letters: QuerySet[DeadLetter], text: str) -> QuerySet[DeadLetter]:
    """Those of the letters in whose search text every word of ``text`` occurs, or whose number it is; all of them for a
    blank one."""
    found = search(text)
    return found.whole(letters) if found else letters


def _texts(words: list[str]) -> QuerySet[SearchText]:
    return SearchText.objects.filter(*_all_of(words)).order_by()


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
