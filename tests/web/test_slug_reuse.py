"""A slug given anew: its new owner sees nothing of the former one (I9)."""

from __future__ import annotations

import pytest
from django.urls import reverse

from dlq.intake import take_in
from dlq.models import DeadLetter
from jobops.engine.records import Outcome
from tenants.deletion import tenant_delete
from tenants.roles import Role
from tests.web.world import World

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_next_owner_of_a_slug_sees_no_job_of_the_former_one(world: World) -> None:
    former = world.tenant("acme")
    ids = [world.enqueue("acme", arguments={"number": n, "note": "FORMER"}) for n in range(4)]
    world.claim()
    world.settle(world.claim(), Outcome.succeeded(b'"FORMER"'))
    world.settle(world.claim(), Outcome.failed("poison", "E", "FORMER"))
    world.engine.scripts.cancel(ids[3])
    tenant_delete(tenant=former, by="test", engine=world.engine, force=True)
    new = world.tenant("acme")
    assert take_in(world.engine) == 1
    assert DeadLetter.objects.get().tenant is None, "a letter is not the next owner's either"
    client = world.client(Role.TENANT_ADMIN, new)
    for job_id in ids:
        assert client.get(reverse("job", args=[job_id])).status_code == 404
        assert client.get(reverse("live-job", args=[job_id])).status_code == 404
    page = client.get(reverse("tenant", args=["acme"])).content.decode()
    assert "FORMER" not in page
    assert not [job_id for job_id in ids if job_id in page]
