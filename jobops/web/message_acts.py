"""What can be done from within a message: undo what it tells of, or see how that goes on.

A message says so in its ``extra_tags``: ``undo:letter:58112``, ``undo:bulk:318``, ``see:bulk:318``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.urls import reverse

_TAG = re.compile(r"(?:^|\s)(undo|see):(letter|bulk):(\d{1,19})(?:\s|$)", re.ASCII)
_PLACES = {
    ("undo", "letter"): "letter-undo",
    ("undo", "bulk"): "bulk-undo",
    ("see", "letter"): "letter",
    ("see", "bulk"): "bulk",
}


@dataclass(frozen=True, slots=True)
class MessageAct:
    """``undo``: a form that posts to ``url``; else a link."""

    undo: bool
    url: str


def act_of(tags: str) -> MessageAct | None:
    """What the tags of a message ask for; None if nothing."""
    found = _TAG.search(tags or "")
    if found is None:
        return None
    verb, thing, pk = found.groups()
    return MessageAct(verb == "undo", reverse(_PLACES[verb, thing], args=[int(pk)]))
