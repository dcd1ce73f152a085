"""Letters that a search cannot find, as they came before there was one or were restored without it."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from dlq.models import DeadLetter, SearchText
from dlq.searchable import search_text
from jobops.doctor.findings import Finding
from jobops.doctor.site import Site

BATCH = 500


def check(site: Site) -> Iterator[Finding]:
    """One finding for all of them."""
    count = _missing().count()
    if count:
        letters = "1 letter has" if count == 1 else f"{count:,} letters have"
        text = f"{letters} no text for the search, which does not find them"
        yield Finding("search_text_missing", "letters", "", text, remedy=_write)


def _missing() -> QuerySet[DeadLetter]:
    return DeadLetter.objects.filter(search__isnull=True)


def _write() -> str:
    written, after = 0, 0
    while letters := list(_missing().filter(pk__gt=after).order_by("pk")[:BATCH]):
        texts = [SearchText(letter=letter, text=search_text(letter)) for letter in letters]
        SearchText.objects.bulk_create(texts, ignore_conflicts=True)
        written, after = written + len(texts), letters[-1].pk
    return f"{written:,} texts written" if written else ""
