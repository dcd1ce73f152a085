"""The catalog in a sentence, and what its measurements are worth."""

from __future__ import annotations

from jobops.contracts.catalog.design import Catalog
from jobops.contracts.catalog.words import plural


def summary(catalog: Catalog) -> str:
    """``12 job types; 2 promises are broken.``"""
    types = plural(len(catalog.jobs), "job type")
    if catalog.broken:
        return f"{types}; {plural(catalog.broken, 'promise is', 'promises are')} broken."
    return f"{types}; no promise is broken." if catalog.jobs else "No job type is registered."


def measured_words(catalog: Catalog) -> str:
    """When it was measured, or why nothing was."""
    if catalog.measured_at is None:
        return f"Nothing was measured: {catalog.missing}." if catalog.missing else "Nothing was measured."
    at = f"Measured at {catalog.measured_at:%Y-%m-%d %H:%M:%S} UTC."
    return f"{at} Not measured: {catalog.missing}." if catalog.missing else at
