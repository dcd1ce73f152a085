"""Values of jobs as text."""

from __future__ import annotations

import json

from dlq.text import capped

LONGEST_VALUE = 4_000
"""Characters of one value on a page: a screen or two."""


def value_text(value: object) -> str:
    """A value as JSON for showing; what JSON has no form for (a date, a Decimal) as its own text."""
    return capped(json.dumps(value, ensure_ascii=False, default=str), LONGEST_VALUE)
