"""The counts of causes, which are kept and not counted when they are read: each held against its letters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby

from dlq.causes.checking import Difference, differences
from dlq.causes.repairing import put_right
from dlq.models import DeadLetterGroup
from jobops.doctor.findings import Finding
from jobops.doctor.site import Site

BY = "doctor"
TOLD = 3


def check(site: Site) -> Iterator[Finding]:
    """Groups whose counts are wrong. Portion by portion, each seen at one instant: nothing is on its way in it."""
    site.looked_at["groups"] += DeadLetterGroup.objects.count()
    for group_id, wrong in groupby(differences(), key=lambda difference: difference.group_id):
        text = f"its counts are not what its letters say: {_told(list(wrong))}"
        remedy = partial(_put_right, group_id)
        yield Finding("group_counts_wrong", "group", str(group_id), text, remedy=remedy, in_database=True)


def _told(wrong: list[Difference]) -> str:
    told = "; ".join(f"{each.what}{_of(each)} is {each.counted}, and should be {each.right}" for each in wrong[:TOLD])
    return f"{told}; and {len(wrong) - TOLD:,} more" if len(wrong) > TOLD else told


def _of(difference: Difference) -> str:
    return f" of tenant {difference.tenant_id}" if difference.tenant_id is not None else ""


def _put_right(group_id: int) -> str:
    wrong = put_right(group_id, BY)
    return f"put right: {', '.join(dict.fromkeys(each.what for each in wrong))}" if wrong else ""
