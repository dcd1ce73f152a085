"""Changes that one of several evaluators makes: whoever's update finds a row as it must be has made the change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q

from jobops.alerts.models import Alert

BATCH = 500


class _NotAll(Exception):
    """Somebody else was faster with some of them."""


def claimed(alerts: Sequence[Alert], while_it_is: Q, **changes: Any) -> list[Alert]:
    """Make the changes to those of the alerts whose rows still are so; answers those. The changes must end that they
    are so: then nobody else can make them too.

    All in one statement for each batch; one by one only where somebody else was faster. Call it in a transaction.
    """
    mine: list[Alert] = []
    for start in range(0, len(alerts), BATCH):
        batch = alerts[start : start + BATCH]
        try:
            with transaction.atomic():
                rows = Alert.objects.filter(while_it_is, pk__in=[each.pk for each in batch])
                if rows.update(**changes) != len(batch):
                    raise _NotAll
        except _NotAll:
            mine += [each for each in batch if Alert.objects.filter(while_it_is, pk=each.pk).update(**changes)]
        else:
            mine += batch
    return mine


def told_so_far(alerts: Sequence[Alert]) -> None:
    """Take over how often each was told by now, of rows that we have claimed: one may have been told of since we
    read it, and who heard that it began must hear that it is over."""
    for start in range(0, len(alerts), BATCH):
        batch = alerts[start : start + BATCH]
        notices = dict(Alert.objects.filter(pk__in=[each.pk for each in batch]).values_list("pk", "notices"))
        for alert in batch:
            alert.notices = notices.get(alert.pk, alert.notices)
