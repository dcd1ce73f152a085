"""Whether a module is there, without importing it: nothing of Django may be imported while its settings are read."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec


def missing_part(name: str) -> str:
    """The first part of a dotted name that cannot be found, or nothing. No part is imported."""
    found, path = "", None
    for part in name.split("."):
        found = f"{found}.{part}".lstrip(".")
        spec = _spec(found, path)
        if spec is None:
            return found
        try:
            path = list(spec.submodule_search_locations or ())
        except KeyError:  # a folder without __init__.py in another one: only importing tells what lies in it
            return ""
    return ""


def _spec(name: str, path: list[str] | None) -> ModuleSpec | None:
    if path is None:
        try:
            return importlib.util.find_spec(name)
        except ValueError:  # a module such as __main__ has none
            return None
    finders = (finder.find_spec(name, path) for finder in sys.meta_path)
    return next((spec for spec in finders if spec is not None), None)
