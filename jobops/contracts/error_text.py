"""An exception as text that can be stored anywhere: capped, printable, and never raising in turn."""

from __future__ import annotations

import re
import traceback

MESSAGE_LIMIT = 4 * 1024
"""Bytes kept of an error's message."""

TRACEBACK_LIMIT = 64 * 1024
"""Bytes kept of a traceback, from its head and its tail: where it began and what it ended in."""

CLASS_LIMIT = 200
"""Bytes kept of a class's name."""

MOST_FRAMES = 2_000
"""Innermost frames that are formatted: a job may have raised the recursion limit."""

CUT_MARK = " [cut] "
LEFT_OUT = "\n… {} characters left out …\n"
"""What stands where the middle of a text was cut out, by ``clean`` and by others. What hides secrets looks for it."""

# Everything that acts instead of showing: C0 but tab and newline, DEL, C1, direction overrides, line separators that
# break logs, and lone surrogates, which no database takes. PostgreSQL refuses NUL in any text.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def class_of(error: BaseException) -> str:
    """The error's class as people write it: ``ValueError``, ``requests.exceptions.Timeout``."""
    cls = type(error)
    module = getattr(cls, "__module__", "")
    name = cls.__qualname__ if module in ("builtins", "") else f"{module}.{cls.__qualname__}"
    return clean(str(name), CLASS_LIMIT)


def message_of(error: BaseException) -> str:
    """``str(error)``, also where that raises; not capped or cleaned."""
    try:
        return str(error)
    except BaseException as second:  # noqa: BLE001 - a job's own __str__ may raise anything
        return f"<str() of this {type(error).__name__} raised {type(second).__name__}>"


def shown_message(error: BaseException) -> str:
    """The message to store: cleaned, at most ``MESSAGE_LIMIT`` bytes."""
    return clean(message_of(error), MESSAGE_LIMIT)


def shown_traceback(error: BaseException, skip: int = 0) -> str:
    """The traceback to store, without its first ``skip`` frames (ours); at most ``TRACEBACK_LIMIT`` bytes."""
    start = error.__traceback__
    for _ in range(skip):
        start = start.tb_next if start is not None else None
    try:
        text = "".join(traceback.format_exception(type(error), error, start, limit=-MOST_FRAMES))
    except BaseException as second:  # noqa: BLE001 - memory spent, or an exception that fights being shown
        text = f"{class_of(error)}: <formatting the traceback raised {type(second).__name__}>\n"
    return clean(text, TRACEBACK_LIMIT)


def visible(text: str) -> str:
    r"""``text`` with what cannot be seen spelled out: NUL becomes ``\x00``, a direction override ``\u202e``."""
    if text.isprintable():  # most names are, and this is far cheaper
        return text
    return _UNSEEN.sub(_escaped, text.replace("\r\n", "\n"))


def storable_json(text: str) -> str:
    """JSON as a text column or a file takes it: the same document, with lone surrogates as JSON escapes.

    (Control characters are escapes in JSON already.)
    """
    return text if text.isascii() else _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def clean(text: str, limit: int) -> str:
    """``visible`` text with its middle cut out above ``limit`` bytes."""
    # Cut twice: before the escaping, which a text of many megabytes would make dear, and after it.
    if len(text) > 2 * limit:
        text = text[:limit] + text[-limit:]
    data = visible(text).encode()
    if len(data) <= limit:
        return data.decode()
    return _head_and_tail(data, limit)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def _head_and_tail(data: bytes, limit: int) -> str:
    mark = CUT_MARK.encode()
    room = max(limit - len(mark), 0)
    tail = room // 2
    head = data[: room - tail].decode("utf-8", "ignore")
    end = data[len(data) - tail :].decode("utf-8", "ignore")
    return head + mark.decode() + end
