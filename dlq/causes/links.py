"""Links that people set on a cause: to a ticket, to a runbook. What a browser opens must be a plain web address."""

from __future__ import annotations

from urllib.parse import urlsplit

from dlq.errors import InvalidAction

LINK_LENGTH = 500
_EXAMPLE = "must be a web address, such as https://tracker.example/PAY-1842"


def clean_link(field: str, text: str) -> str:
    """The link as it is stored, empty for none. Raises ``InvalidAction`` with this field for what is no link."""
    link = text.strip()
    if not link:
        return ""
    if len(link) > LINK_LENGTH:
        raise InvalidAction(field, f"{len(link)} characters are too many; at most {LINK_LENGTH}")
    if not link.isprintable() or any(character in link for character in ' "<>\\^`{|}'):
        raise InvalidAction(field, _EXAMPLE)
    try:
        parts = urlsplit(link)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise InvalidAction(field, _EXAMPLE) from None
    if parts.scheme.lower() not in ("http", "https") or not host:
        raise InvalidAction(field, _EXAMPLE)
    if parts.username is not None or parts.password is not None:
        raise InvalidAction(field, "must not hold a login: everybody who sees the cause would read it")
    return link
