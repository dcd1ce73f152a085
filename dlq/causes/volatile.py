"""What varies from one death of a cause to the next, taken out of an error's message. Pure.

Numbers, ids, hex, UUIDs, quoted text, paths, addresses, dates and the job's own arguments become an ellipsis. What
tells causes apart stays: words, codes ("HTTP 503", "[Errno 111]"), names of code in quotation marks ("column "total""),
a URL's host and the fixed parts of its path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

GAP = "…"
LENGTH = 280
"""Characters of a message that count."""

MOST_VALUES = 100
"""Arguments that are looked for in a message."""

_READ = 1000
_LONGEST_VALUE = 200

# Technical names with digits in them, which are no ids.
_TERM_WORDS = """
utf8 utf16 utf32 latin1 cp1250 cp1252 s3 ec2 oauth2 ipv4 ipv6 mp3 mp4 h264 h265 sha1 sha224 sha256 sha384 sha512 md5
base32 base64 int8 int16 int32 int64 uint8 uint32 uint64 float32 float64 x509 tls1 http1 http2 http3 pkcs1 pkcs7 pkcs8
pkcs12 p12 iso8601 rfc3339 python2 python3 py3 psycopg2 boto3 urllib3 bz2 lz4 k8s i18n l10n a11y rs256 hs256 es256 x86
x64 win32 amd64 arm64 3ds 3d 2d 2fa log4j sqlite3 b2b b2c e2e o365 v1 v2 v3 v4 v5
"""
_TERMS = frozenset(_TERM_WORDS.split())
_TYPE_WORDS = "int str float complex bool bytes bytearray list tuple dict set frozenset NoneType type function method"
_TYPES = frozenset([*_TYPE_WORDS.split(), "Decimal", "datetime", "date", "timedelta", "UUID", "generator", "module"])
_CODE_WORDS = (
    r"(?:https?(?:/\d(?:\.\d)?)?|status(?:[ _-]?code)?|(?:error|exit|return|response|reply|reason)[ _-]?(?:code|status)"
    r"|code|errno|error|signal|sqlstate|exit(?:ed)?(?: with)?|answered|returned|responded(?: with)?)"
)
_KINDS = {
    "gap": rf"{GAP}|•+",
    "url": r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s\"'<>(){}|\\^`…]+",
    "mail": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "quoted": (r"""(?<![\w'"])b?(?:'[^'\n]*'|"[^"\n]*"|`[^`\n]*`|“[^”\n]*”|‘[^’\n]*’|«[^»\n]*»)(?!\w)"""),
    "object": r"<[A-Za-z_][\w.]*(?:[ :(][^<>\n]*)?>",
    "code": (
        rf"(?<![\w-])(?:(?i:{_CODE_WORDS})[ :=#(\[]{{1,3}}-?\d{{1,5}}(?![\w.]*\d)"
        r"|\[Errno -?\d{1,5}\]|[45]\d\d(?= (?:Client|Server) Error)"
        r"|(?:ORA|TNS|PLS|AADSTS|PGRST|RFC|ISO|SQLSTATE|CVE)[ -]?\d{1,6}(?:-\d+)?)"
    ),
    "path": (r"(?<![\w/…])(?:[A-Za-z]:)?(?:[/\\][\w.@%+~=-]+){2,}[/\\]?|(?<!\w)~?/[\w.@%+~=-]+\.\w{1,5}\b"),
    "ip": (
        r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d+)?(?!\w)"
        r"|(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])"
    ),
    "word": r"[A-Za-z_]+(?![\w-])(?!\.\d)",
    "token": r"[+-]?\w[\w-]*(?:[.,:/]\d[\w-]*)*%?",
}
"""What a message is made of, the first that fits. ``word`` stays; of the others it depends."""

_PARTS = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))
_SPACE = re.compile(r"\s+")
_BETWEEN = r"[\s,;:/|&.()\[\]{}=+-]{0,6}"
_GAPS = re.compile(rf"{GAP}(?:{_BETWEEN}(?:\b(?:and|or)\b)?{_BETWEEN}{GAP})+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_.]{0,60}")
_HEX = re.compile(r"(?:0[xX])?[0-9A-Fa-f]{8,}")
# A quotation that names a thing of the code or of the database's schema, and no thing of a customer.
_NAMED = re.compile(
    r"(?:constraint|relation|column|table|attribute|argument|parameter|keyword|module|import|function|method|index|schema|"
    r"field|database|queue|setting|variable|header|property|option|codec|operator|type)s?:? ?\Z",
    re.IGNORECASE,
)
_IS_NAME = re.compile(
    r" ?(?:object|instance|constraint|column|attribute|argument|parameter|field|codec|must be|has no attribute|"
    r"is not defined|is not (?:a )?(?:subscriptable|callable|iterable))",
    re.IGNORECASE,
)
_MONTH = re.compile(
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|e|y|ust|ember|tember|ober)?",
    re.IGNORECASE,
)


def lasting(message: str, values: Iterable[str] = (), *, is_name: bool = False) -> str:
    """What of a message its cause says: one line of at most ``LENGTH`` characters; empty if no word is left.

    ``values``: the job's arguments as text. ``is_name``: the whole message is a name in quotation marks, as that of
    a ``KeyError``.
    """
    line = _line(message)
    for value in sorted({each for each in values if each in line}, key=len, reverse=True):
        line = _without(value, line)
    return _settle(line, is_name)


def texts_in(value: Any, most: int = MOST_VALUES) -> Iterator[str]:
    """The texts among a job's arguments that may stand in a message, at any depth; numbers go without saying."""
    waiting = [value]
    while waiting and most > 0:
        each = waiting.pop()
        if isinstance(each, str):
            if 2 <= len(each) <= _LONGEST_VALUE and (len(each) > 2 or not each.islower()):
                most -= 1
                yield each
        elif isinstance(each, dict):
            waiting += list(each.values())[:most]
        elif isinstance(each, list | tuple | set | frozenset):
            waiting += list(each)[:most]


def _line(message: str) -> str:
    """The first line that says something; the next one too where it only announces that."""
    lines = (line.strip() for line in message[:_READ].splitlines())
    said = [line for line in lines if line][:2]
    if not said:
        return ""
    if len(said) > 1 and (said[0].endswith(":") or "validation error" in said[0]):
        return f"{said[0]} {said[1]}"
    return said[0]


def _without(value: str, line: str) -> str:
    """The line without the value, where it stands by itself and is no part of a longer word."""
    parts, at = [], 0
    while (found := line.find(value, at)) >= 0:
        end = found + len(value)
        alone = not (found and line[found - 1].isalnum() and value[0].isalnum()) and not (
            end < len(line) and line[end].isalnum() and value[-1].isalnum()
        )
        parts += [line[at:found], GAP if alone else value]
        at = end
    return "".join([*parts, line[at:]])


@lru_cache(maxsize=4096)
def _settle(line: str, is_name: bool) -> str:
    if is_name and _NAME.fullmatch(line.strip("'\"")):
        return line[:LENGTH]
    text = _GAPS.sub(GAP, _SPACE.sub(" ", _PARTS.sub(_part, line))).strip()
    if not any(character.isalpha() for character in text):
        return ""
    return text if len(text) <= LENGTH else text[: LENGTH - 1] + GAP


def _part(found: re.Match[str]) -> str:
    text = found[0]
    match found.lastgroup:
        case "word":
            return GAP if _MONTH.fullmatch(text) and _beside_a_number(found) else text
        case "code":
            return text
        case "token":
            return _token(text)
        case "quoted":
            return _quoted(found)
        case "object":
            name = re.match(r"<([A-Za-z_][\w.]*)", text)
            return f"<{name[1]} {GAP}>" if name and len(text) > len(name[0]) + 1 else text
        case "url":
            return _url(text)
    return GAP


def _token(text: str) -> str:
    """Text with a digit or a hyphen in it. Of a hyphenated word that stays what is none."""
    plain = text.lower().replace("-", "").replace("_", "")
    if not any(character.isdigit() for character in text) or plain in _TERMS:
        return text if not _HEX.fullmatch(text) else GAP
    return GAP


def _quoted(found: re.Match[str]) -> str:
    text = found[0].removeprefix("b")
    inner = text[1:-1]
    before, after = found.string[: found.start()], found.string[found.end() :]
    if inner in _TYPES or inner.lower().replace("-", "") in _TERMS:
        return text
    if _NAME.fullmatch(inner) and (_NAMED.search(before[-20:]) or _IS_NAME.match(after)):
        return text
    if "[Errno" in inner or "Error" in inner:
        # An error within an error: that one is the cause.
        return f"{text[0]}{_PARTS.sub(_part, inner)}{text[-1]}"
    return GAP


def _url(text: str) -> str:
    scheme, _, rest = text.partition("://")
    place = re.split(r"[?#]", rest.rstrip(".,;:!)"), maxsplit=1)[0]
    host, *path = place.split("/")
    host = host.rpartition("@")[2].partition(":")[0]
    if re.fullmatch(r"[\d.]+|\[.*", host):
        host = GAP
    return f"{scheme}://{'/'.join([host, *map(_segment, path)])}"


def _segment(text: str) -> str:
    return text if re.fullmatch(r"v\d|[A-Za-z_.-]{0,30}", text) else GAP


def _beside_a_number(found: re.Match[str]) -> bool:
    line = found.string
    return bool(re.search(r"\d,?[ -]\Z", line[: found.start()][-4:]) or re.match(r"\.?[ -]\d", line[found.end() :][:3]))
