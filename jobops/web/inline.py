"""Sentences of the catalog as HTML: code between backticks, units that stay with their number, words that stand out."""

from __future__ import annotations

import re

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from jobops.contracts.catalog.words import NOT_BUILT, NOT_MEASURED
from jobops.web.formats import NBSP, NOTHING

_CODE = re.compile(r"`+([^`]+)`+")
_UNIT = re.compile(r"(?<=\d) (?=(?:ms|s|min|h|d)\b)")


def inline(text: str) -> SafeString:
    """The sentence; whatever a docstring says stays text."""
    joined = _UNIT.sub(NBSP, text)
    # Odd parts stood between backticks.
    parts = (("<code>{}</code>" if index % 2 else "{}", part) for index, part in enumerate(_CODE.split(joined)))
    return format_html_join("", "{}", ((format_html(form, part),) for form, part in parts if part))


def cell(text: str) -> SafeString:
    """A cell of a chapter: an empty one and what is not there yet are quiet."""
    if text in ("", NOT_MEASURED):
        return format_html('<span class="n0">{}</span>', text or NOTHING)
    return format_html('<span class="jtag">{}</span>', text) if text == NOT_BUILT else inline(text)
