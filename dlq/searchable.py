"""What a letter is found by: one masked text for each. ``dlq.searching`` looks into them."""

import json
from collections.abc import Iterable
from typing import Any

from dlq.models import DeadLetter, SearchText
from dlq.payloads import Shown
from dlq.text import visible

TEXT_LENGTH = 1500
"""Characters of a letter's search text."""

MOST_WORDS = 10
"""Words of a search that count."""

_ERROR_LENGTH = 600
_NAMES_LENGTH = 700


def search_text(letter: DeadLetter, shown: Shown | None = None) -> str:
    """What a search finds the letter by: job type, ids, key, error and arguments; lower-case, secrets masked.

    ``shown``: the letter's, from whom has it.
    """
    shown = shown or Shown(letter)
    names = (letter.job_type, letter.tenant_slug, letter.job_id, letter.correlation_id, letter.key, letter.error_class)
    arguments = shown.arguments()
    parts = (
        " ".join(name for name in names if name)[:_NAMES_LENGTH],
        "" if shown.hides_error else shown.error[:_ERROR_LENGTH],
        "" if arguments is None else visible(json.dumps(arguments, ensure_ascii=False, default=_plain)),
    )
    return "\n".join(parts).lower()[:TEXT_LENGTH]


def words_of(text: str) -> list[str]:
    """The words of a search as they are looked for; the first ten. One without a letter or a digit is none: a quotation
    mark alone would be found in every letter, whose arguments are stored as JSON."""
    return [word for word in _split(text) if _says_something(word)][:MOST_WORDS]


def left_out(text: str) -> list[str]:
    """The words of a search that nobody looks for."""
    return [word for word in _split(text) if not _says_something(word)]


def rewrite(letters: Iterable[DeadLetter]) -> None:
    """Store the search texts of these letters anew."""
    rows = [SearchText(letter=letter, text=search_text(letter)) for letter in letters]
    if rows:
        SearchText.objects.bulk_create(rows, update_conflicts=True, unique_fields=["letter"], update_fields=["text"])


def _split(text: str) -> list[str]:
    return visible(text).lower().split()


def _says_something(word: str) -> bool:
    return any(character.isalnum() for character in word)


def _plain(value: Any) -> str:
    return str(value)
