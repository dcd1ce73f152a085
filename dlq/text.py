"""Making any bytes fit for a text column and for a person's eyes."""

import re

# Everything that acts instead of showing: C0 but tab and newline, DEL, C1, direction overrides, line separators that
# break logs, and lone surrogates, which no database takes. PostgreSQL refuses NUL in any text.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def visible(raw: bytes | str) -> str:
    r"""The text with what cannot be seen spelled out: NUL becomes ``\x00``; bytes that are no UTF-8 ``\xff``."""
    text = raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw
    if text.isprintable():  # most names are, and this is far cheaper
        return text
    return _UNSEEN.sub(_escaped, text.replace("\r\n", "\n"))


def capped(raw: bytes | str, limit: int) -> str:
    """``visible`` text of at most ``limit`` characters; of a longer one the head and the tail, and how much is out."""
    text = visible(raw)
    if len(text) <= limit:
        return text
    note = f"\n… {len(text) - limit} characters left out …\n"
    room = limit - len(note)
    if room < 2:
        return text[:limit]
    head = room // 2
    return text[:head] + note + text[len(text) - (room - head) :]


def one_line(raw: bytes | str, limit: int) -> str:
    """``visible`` text for a name: at most ``limit`` characters, no line breaks, the end cut with an ellipsis."""
    text = visible(raw).replace("\n", "\\n").replace("\t", "\\t")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def storable_json(text: str) -> str:
    """JSON as a text column takes it: the same document, with lone surrogates as JSON escapes.

    (Control characters are escapes in JSON already.)
    """
    return _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
