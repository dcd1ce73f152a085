"""The reasons for a discard that people choose from: a short list that our team edits.

As long as nobody has changed it, it is ``DEFAULTS`` and has no rows; the first change writes them. An entry is known
by its words: a letter keeps those it was discarded with, whatever becomes of the entry.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from dlq.errors import InvalidAction
from dlq.models import DiscardReason
from dlq.text import visible
from jobops.audit.recording import Change, record
from tenants.services import Actor, actor_name

DEFAULTS = ("Will never succeed", "Fixed by hand", "Duplicate of another", "No longer needed")
OTHER = "Something else"
"""Always offered, after the others; it says nothing by itself, and needs a note."""

TEXT_LENGTH = 100
MOST = 30
NOT_THERE = "it is not in the list any more; look at the list as it is now"


def reasons_offered() -> list[str]:
    """What people choose from, in order, without ``OTHER``. One query."""
    return [reason.text for reason in all_reasons() if not reason.retired]


def all_reasons() -> list[DiscardReason]:
    """All entries in order, retired ones too; those of an untouched list are no rows. One query."""
    return list(DiscardReason.objects.all()) or _defaults("")


def spelled_as_offered(text: str) -> str:
    """The entry that these words are, whatever their case; other words as they are."""
    plain = " ".join(text.split()).casefold()
    return next((each for each in reasons_offered() if each.casefold() == plain), text)


def reason_add(*, text: str, by: Actor) -> DiscardReason:
    """Add an entry at the end; a retired one of these words is offered again.

    Raises ``InvalidAction`` for words that are no reason, that are there already, or that are one too many.
    """
    text = _clean(text)
    with transaction.atomic():
        reasons = _locked(by)
        known = _same(reasons, text)
        if known is not None and not known.retired:
            raise InvalidAction("text", f"“{known.text}” is in the list already")
        offered = [reason for reason in reasons if not reason.retired]
        _check_room(offered)
        reason = known or DiscardReason(by=actor_name(by))
        reason.text, reason.retired = text, False
        reason.save()
        _number([*offered, reason, *(each for each in reasons if each.retired and each is not known)])
        _record("discard_reason.add", reason, by)
    return reason


def reason_rename(*, text: str, new: str, by: Actor) -> DiscardReason:
    """Say it in other words from now on. Raises ``InvalidAction`` as above, or when it is not there."""
    new = _clean(new)
    with transaction.atomic():
        reasons = _locked(by)
        reason = _named(reasons, text)
        same = _same(reasons, new)
        if same is not None and same is not reason:
            raise InvalidAction("text", f"“{same.text}” is in the list already{' as retired' * same.retired}")
        before, reason.text = reason.text, new
        if before != new:
            reason.save(update_fields=["text"])
            _record("discard_reason.rename", reason, by, before)
    return reason


def reason_move(*, text: str, up: bool, by: Actor) -> None:
    """Change places with the one above or below it; the first stays first. Raises ``InvalidAction``."""
    with transaction.atomic():
        reasons = _locked(by)
        reason = _named(reasons, text)
        offered = [each for each in reasons if not each.retired]
        if reason.retired:
            raise InvalidAction("text", f"“{reason.text}” is retired, and in no order")
        place = offered.index(reason)
        other = place - 1 if up else place + 1
        if 0 <= other < len(offered):
            offered[place], offered[other] = offered[other], offered[place]
            _number([*offered, *(each for each in reasons if each.retired)])
            _record("discard_reason.move", reason, by)


def reason_retire(*, text: str, by: Actor) -> None:
    """Offer it no longer; letters keep it. Raises ``InvalidAction`` when it is not there."""
    _set_retired(text, by, retired=True)


def reason_restore(*, text: str, by: Actor) -> None:
    """Offer a retired one again. Raises ``InvalidAction`` when it is not there, or one too many."""
    _set_retired(text, by, retired=False)


def _set_retired(text: str, by: Actor, *, retired: bool) -> None:
    with transaction.atomic():
        reasons = _locked(by)
        reason = _named(reasons, text)
        if reason.retired == retired:
            return
        if not retired:
            _check_room([each for each in reasons if not each.retired])
        reason.retired = retired
        reason.save(update_fields=["retired"])
        others = [each for each in reasons if each is not reason]
        # Retired ones stand after all others, so that those keep their places.
        _number([*(each for each in others if not each.retired), reason, *(each for each in others if each.retired)])
        _record(f"discard_reason.{'retire' if retired else 'restore'}", reason, by)


def _locked(by: Actor) -> list[DiscardReason]:
    """All entries in order, for nobody else to change; an untouched list gets its rows now."""
    if not DiscardReason.objects.exists():
        # Two who change it first: each entry is written once.
        DiscardReason.objects.bulk_create(_defaults(actor_name(by)), ignore_conflicts=True)
    list(DiscardReason.objects.select_for_update().order_by("pk"))
    # Read by a statement of its own: it sees what others had changed until then.
    return list(DiscardReason.objects.all())


def _defaults(by: str) -> list[DiscardReason]:
    return [DiscardReason(text=text, position=place, by=by) for place, text in enumerate(DEFAULTS)]


def _number(reasons: Sequence[DiscardReason]) -> None:
    for place, reason in enumerate(reasons):
        reason.position = place
    DiscardReason.objects.bulk_update(reasons, ["position"])


def _clean(text: str) -> str:
    text = " ".join(visible(text).split())
    if not text:
        raise InvalidAction("text", "say the reason in a few words")
    if len(text) > TEXT_LENGTH:
        raise InvalidAction("text", f"{len(text)} characters are too many; at most {TEXT_LENGTH}")
    if text.casefold() == OTHER.casefold():
        raise InvalidAction("text", f"“{OTHER}” is always offered, after the others")
    return text


def _check_room(offered: Sequence[DiscardReason]) -> None:
    if len(offered) >= MOST:
        raise InvalidAction("text", f"{MOST} are as many as anybody reads; retire one first")


def _same(reasons: Sequence[DiscardReason], text: str) -> DiscardReason | None:
    return next((each for each in reasons if each.text.casefold() == text.casefold()), None)


def _named(reasons: Sequence[DiscardReason], text: str) -> DiscardReason:
    found = next((each for each in reasons if each.text == text), None)
    if found is None:
        raise InvalidAction("text", NOT_THERE)
    return found


def _record(action: str, reason: DiscardReason, by: Actor, before: str = "") -> None:
    was = {"text": before} if before else {}
    after = {"text": reason.text} if before else {"position": reason.position + 1}
    record(by, Change(action, "discard_reason", before or reason.text, before=was, after=after))
