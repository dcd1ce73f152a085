"""From letters to their groups: found by their fingerprints, or made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dlq.causes.fingerprint import Print, print_of
from dlq.models import DeadLetter, DeadLetterGroup
from dlq.rows import insert_rows


def attach(letters: Sequence[DeadLetter], prints: Sequence[Print] | None = None) -> None:
    """Set the group of each of these letters, whose content is known, and make the groups that are not there yet.

    In the caller's transaction. ``prints``: of the letters, in their order, from whom has them already. A group that
    is made here counts nothing until its letters are counted.
    """
    if not letters:
        return
    known = [print_of(letter) for letter in letters] if prints is None else prints
    keys = {each.key for each in known}
    ids = _ids(keys)
    missing = keys - ids.keys()
    if missing:
        firsts: dict[str, tuple[DeadLetter, Print]] = {}
        for letter, each in zip(letters, known, strict=True):
            if each.key in missing:
                firsts.setdefault(each.key, (letter, each))
        # In one order: two who make the same groups at once must not wait for each other.
        insert_rows(DeadLetterGroup, [_new(*firsts[key]) for key in sorted(firsts)])
        ids |= _ids(missing)
    for letter, each in zip(letters, known, strict=True):
        letter.group_id = ids[each.key]


def _ids(keys: Iterable[str]) -> dict[str, int]:
    return dict(DeadLetterGroup.objects.filter(fingerprint__in=list(keys)).values_list("fingerprint", "pk"))


def _new(letter: DeadLetter, found: Print) -> DeadLetterGroup:
    died_at = letter.last_died_at or letter.dead_at
    return DeadLetterGroup(
        fingerprint=found.key,
        title=found.title,
        culprit=found.culprit,
        job_type=letter.job_type,
        error_class=letter.error_class,
        # Until a letter is counted there is nothing to be drained.
        state=DeadLetterGroup.State.DRAINED,
        first_seen_at=died_at,
        last_seen_at=died_at,
    )
