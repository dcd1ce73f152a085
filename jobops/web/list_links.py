"""Two lists under one address, ``/dlq/``: by cause and one by one; which one a query string asks for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from dlq.group_filters import ALL_STATUS, STATUSES

CAUSES, LETTERS = "cause", "one"
ONLY_LETTERS = ("reason", "older_than", "drained", "batch", "group")
"""What nobody can ask of causes."""


def shows_causes(params: Mapping[str, str]) -> bool:
    """Whether an address asks for causes: it says so, or says nothing and asks for nothing that only letters have."""
    by = params.get("by", "")
    if by in (CAUSES, LETTERS):
        return by == CAUSES
    status = params.get("status", "")
    if status and (status == ALL_STATUS or status not in STATUSES):
        return False
    return params.get("sort") != "newest" and not any(params.get(name) for name in ONLY_LETTERS)


def in_list(query: str, by: str) -> str:
    """The link to what this query string asks for, in the list ``by`` cause or ``one`` by one."""
    if shows_causes(dict(parse_qsl(query))) == (by == CAUSES):
        return f"?{query}"
    return f"?by={by}&{query}" if query else f"?by={by}"
