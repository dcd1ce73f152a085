"""What a command prints, on a terminal or into a pipe of whatever encoding: it never fails for one character."""

from __future__ import annotations

import codecs

ERRORS = "jobops.spelled_out"
_FIRST_OF_PAIRS = 0x10000


def spell_out(stream: object) -> None:
    r"""Have the stream write as ``\u2022`` what its encoding has no form for, which keeps JSON what it was."""
    file = getattr(stream, "_out", stream)  # Django's wrapper hides it
    reconfigure = getattr(file, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=ERRORS)


def _spelled_out(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_escaped, error.object[error.start : error.end])), error.end


def _escaped(character: str) -> str:
    code = ord(character)
    if code < _FIRST_OF_PAIRS:
        return f"\\u{code:04x}"
    high, low = divmod(code - _FIRST_OF_PAIRS, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


codecs.register_error(ERRORS, _spelled_out)
