"""Making any bytes fit for a text column and for a person's eyes."""

from jobops.contracts import error_text


def visible(raw: bytes | str) -> str:
    r"""The text with what cannot be seen spelled out: NUL becomes ``\x00``; bytes that are no UTF-8 ``\xff``."""
    return error_text.visible(raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw)


def capped(raw: bytes | str, limit: int) -> str:
    """``visible`` text of at most ``limit`` characters; of a longer one the head and the tail, and how much is out."""
    text = visible(raw)
    if len(text) <= limit:
        return text
    note = error_text.LEFT_OUT.format(len(text) - limit)
    room = limit - len(note)
    if room < 2:
        return text[:limit]
    head = room // 2
    return text[:head] + note + text[len(text) - (room - head) :]


def one_line(raw: bytes | str, limit: int) -> str:
    """``visible`` text for a name: at most ``limit`` characters, no line breaks, the end cut with an ellipsis."""
    text = visible(raw).replace("\n", "\\n").replace("\t", "\\t")
    return text if len(text) <= limit else text[: limit - 1] + "…"
