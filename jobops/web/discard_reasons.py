"""Why dead letters are discarded: the reasons to choose from, and how a form's two fields become one text."""

from __future__ import annotations

from collections.abc import Mapping

from dlq.discard_reasons import OTHER, all_reasons, reasons_offered


def reasons_shown() -> list[str]:
    """What a form offers; one query."""
    return [*reasons_offered(), OTHER]


def reason_of(form: Mapping[str, str]) -> str:
    """The reason that a form gives in ``reason`` (an entry of the list) and ``note`` (free text); empty for none.

    ``OTHER`` alone is none: it says nothing. An entry that was retired since the page was opened is one still.
    """
    chosen, note = form.get("reason", "").strip(), form.get("note", "").strip()
    if not chosen or chosen == OTHER:
        return note
    if chosen not in {reason.text for reason in all_reasons()}:
        return note
    return f"{chosen}: {note}" if note else chosen
