"""Where a long name may break: after its dots, dashes and the like, and not within its words."""

from __future__ import annotations

import re

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_PIECES = re.compile(r"[^._/:@\-]*[._/:@\-]+|[^._/:@\-]+")


def breakable(text: object) -> SafeString:
    """The text as HTML that may break after each part of a name; whatever it says stays text."""
    *head, last = _PIECES.findall(str(text)) or [""]
    return format_html("{}{}", format_html_join("", "{}<wbr>", ((piece,) for piece in head)), last)
