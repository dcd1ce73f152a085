"""Batches that nobody looks at."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from jobops.batches.models import Batch
from jobops.doctor.site import Site
from tests.doctor.plant import look, mended
from tests.runtime.batch_factory import filled
from tests.runtime.factory import run_all


def test_one_that_nobody_has_looked_at_is_looked_through(site: Site) -> None:
    batch = filled(2)
    run_all(site.engine)
    assert look(site) == []
    Batch.objects.update(counted_at=timezone.now() - timedelta(minutes=11))
    mended(site, ("batch_not_looked_at", batch.id))
    assert batch.status().state == "succeeded"
