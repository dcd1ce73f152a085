"""What values a tenant may have; each fault is one ``InvalidTenant`` that names the field and what would be right."""

import math
import re
import unicodedata
from typing import Any, TypedDict

from django.conf import settings

from jobops.engine.rates import parse_rate
from tenants.errors import InvalidTenant
from tenants.models import WHOLE_SLUG

MIN_WEIGHT, MAX_WEIGHT = 0.01, 1000.0
MAX_COUNT = 2**31 - 1
NAME_LENGTH, REASON_LENGTH = 200, 500


class TenantFields(TypedDict, total=False):
    """What of a tenant can be set; a missing key leaves it as it is. ``None``: no limit."""

    name: str
    weight: float
    cap: int | None
    lane_caps: dict[str, int]
    depth_limit: int | None
    rate: str | None
    intake_closed: bool
    may_pause: bool
    may_replay: bool


def clean_slug(slug: str) -> str:
    """The slug, if it may be one."""
    if not isinstance(slug, str) or not re.match(WHOLE_SLUG, slug):
        raise InvalidTenant("slug", f"{slug!r} must be 1 to 50 of the characters a-z, 0-9 and -")
    return slug


def clean_fields(fields: TenantFields) -> dict[str, Any]:
    """The given fields as they go into the database."""
    cleaned: dict[str, Any] = {}
    for field, value in fields.items():
        if field == "name":
            cleaned[field] = clean_text("name", value, NAME_LENGTH)
        elif field == "weight":
            cleaned[field] = _weight(value)
        elif field in ("cap", "depth_limit"):
            cleaned[field] = None if value is None else _count(field, value)
        elif field == "rate":
            cleaned[field] = _rate(value)
        elif field == "lane_caps":
            cleaned[field] = _lane_caps(value)
        elif field in ("intake_closed", "may_pause", "may_replay"):
            cleaned[field] = bool(value)
        else:
            raise InvalidTenant(field, "a tenant has no such field")
    return cleaned


def clean_text(field: str, value: object, length: int) -> str:
    """One line of text for people: trimmed, not too long, nothing invisible in it."""
    text = str(value).strip()
    if len(text) > length:
        raise InvalidTenant(field, f"must be at most {length} characters, not {len(text)}")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in text):
        raise InvalidTenant(field, "must be one line of text without control characters")
    return text


def _weight(value: object) -> float:
    # bool is an int to Python, but never meant as a weight.
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidTenant("weight", f"{value!r} must be a number from {MIN_WEIGHT} to {MAX_WEIGHT:g}")
    if not MIN_WEIGHT <= value <= MAX_WEIGHT:
        raise InvalidTenant("weight", f"{value!r} must be from {MIN_WEIGHT} to {MAX_WEIGHT:g}")
    return float(value)


def _count(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_COUNT:
        hint = "to stop a tenant, pause it" if field == "cap" else "to refuse every job, close its intake"
        raise InvalidTenant(field, f"{value!r} must be a whole number from 1 to {MAX_COUNT}, or none ({hint})")
    return value


def _rate(value: object) -> str:
    """As it is stored: in its shortest form, or empty for any."""
    if value is None or value == "":
        return ""
    try:
        return str(parse_rate(value))  # type: ignore[arg-type]
    except ValueError as error:
        raise InvalidTenant("rate", f"{error}, or none") from None


def _lane_caps(value: object) -> dict[str, int]:
    if not isinstance(value, dict):
        raise InvalidTenant("lane_caps", f"{value!r} must map lanes to whole numbers")
    lanes = sorted(settings.JOBOPS_LANES)
    for lane in value:
        if lane not in lanes:
            raise InvalidTenant("lane_caps", f"there is no lane {lane!r}; the lanes are {', '.join(lanes)}")
    return {lane: _count(f"lane_caps.{lane}", cap) for lane, cap in value.items()}
