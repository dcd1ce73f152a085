"""Why dead letters are discarded: the reasons to choose from, and how a form's two fields become one text."""

from __future__ import annotations

from collections.abc import Mapping

REASONS = ("Will never succeed", "Fixed by hand", "Duplicate of another", "No longer needed", "Something else")
OTHER = REASONS[-1]


def reason_of(form: Mapping[str, str]) -> str:
    """The reason that a form gives in ``reason`` (one of ``REASONS``) and ``note`` (free text); empty if it says none.

    ``OTHER`` alone is none: it says nothing.
    """
    chosen, note = form.get("reason", "").strip(), form.get("note", "").strip()
    if chosen not in REASONS:
        return note
    if chosen == OTHER or not note:
        return note or ("" if chosen == OTHER else chosen)
    return f"{chosen}: {note}"
