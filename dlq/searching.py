"""Finding letters by words in their search texts."""

import re
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import BooleanField, F, Func, QuerySet, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan

from dlq.models import DeadLetter, SearchText
from dlq.searchable import words_of

FEW = 2_000
"""So many ids are named one by one; to look for more of them, letter by letter, is quicker."""

_SPECIAL = re.compile(r"[*?[]")


class _Glob(Func):
    # Twice as fast as INSTR, and with LIKE it would be a question of case.
    template = "(%(expressions)s)"
    arg_joiner = " GLOB "
    output_field = BooleanField()


@dataclass(frozen=True, slots=True)
class Search:
    """The letters in whose search text every word occurs. ``few``: their ids, if they are few."""

    words: list[str]
    few: list[int] | None

    def in_order(self, letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
        """Those of the letters, to be read in some order and only so far: a page of them."""
        if self.few is not None:
            return letters.filter(pk__in=self.few)
        return letters.filter(*(_holds("search__text", word) for word in self.words))

    def whole(self, letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
        """Those of the letters, to be counted or read to the end."""
        if self.few is not None:
            return letters.filter(pk__in=self.few)
        return letters.filter(pk__in=_texts(self.words).values("pk"))


def search(text: str) -> Search | None:
    """Look for the words of ``text`` in one query; None where there is no word to look for."""
    words = words_of(text)
    if not words:
        return None
    first = list(_texts(words).values_list("pk", flat=True)[: FEW + 1])
    return Search(words, first if len(first) <= FEW else None)


def matching(letters: QuerySet[DeadLetter], text: str) -> QuerySet[DeadLetter]:
    """Those of the letters in whose search text every word of ``text`` occurs; all of them for a blank one."""
    found = search(text)
    return found.whole(letters) if found else letters


def _texts(words: list[str]) -> QuerySet[SearchText]:
    return SearchText.objects.filter(*(_holds("text", word) for word in words)).order_by()


def _holds(field: str, word: str) -> Any:
    if connection.vendor == "sqlite":
        literal = _SPECIAL.sub(r"[\g<0>]", word)
        return _Glob(F(field), Value(f"*{literal}*"))
    return GreaterThan(StrIndex(F(field), Value(word)), Value(0))
