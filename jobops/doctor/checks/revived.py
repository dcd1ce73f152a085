"""I1: a job is not alive while its letter is open: somebody put it back past the DLQ, or Redis was restored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dlq.models import DeadLetter, State
from jobops.doctor.findings import Finding
from jobops.doctor.site import Site

CHUNK = 500


def check(site: Site) -> Iterator[Finding]:
    """Open letters whose own job, or whose last replay, is alive."""
    for letters in _open_letters():
        alive = _alive(site, letters)
        # Open before and after, without a replay between: then it was open while its job was seen alive.
        now = DeadLetter.objects.filter(pk__in=alive, state=State.OPEN).values_list("pk", "replays")
        still_open = dict(now) if alive else {}
        for letter in letters:
            if letter.replays == still_open.get(letter.pk):
                job_id = alive[letter.pk]
                text = (
                    f"it is open, but its job {job_id} is alive: replayed now, it would run twice. "
                    f"`manage.py jobs cancel {job_id}` ends the job; if it may run, discard the letter"
                )
                yield Finding("letter_and_live_job", "letter", str(letter.pk), text, letter.tenant_slug)


def _open_letters() -> Iterator[list[DeadLetter]]:
    letters = DeadLetter.objects.filter(state=State.OPEN).only(
        "pk", "job_id", "replay_job_id", "replays", "tenant_slug"
    )
    after = 0
    while chunk := list(letters.filter(pk__gt=after).order_by("pk")[:CHUNK]):
        yield chunk
        after = chunk[-1].pk


def _alive(site: Site, letters: Sequence[DeadLetter]) -> dict[int, str]:
    """Letter id → the job of its that is alive."""
    jobs = {letter.pk: [job_id for job_id in (letter.job_id, letter.replay_job_id) if job_id] for letter in letters}
    fates = site.engine.scripts.fates([job_id for ids in jobs.values() for job_id in ids])
    found = {pk: [job_id for job_id in ids if fates[job_id].state == "alive"] for pk, ids in jobs.items()}
    return {pk: ids[0] for pk, ids in found.items() if ids}
