"""What the tests of bulk pages share: a job type that can be replayed, and what its forms send."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client

from dlq.models import BulkAction, DeadLetter
from jobops.contracts.decorator import job
from tenants.models import Tenant
from tests.web.world import World

TYPE = "tests.web.send_invoice"

AT_ONCE = {"options": "1", "canary": "0", "canary_failures": "0", "rate": "", "in_order": "1"}
"""What the form of the preview sends of a replay without a canary and without a limit."""


@job(name=TYPE, owner="billing", drain_sla="4h", idempotent="upserts by number", lane="bulk", timeout="30s")
def send_invoice(number: int = 0) -> int:
    return number


def replayable(world: World, tenant: Tenant, **fields: Any) -> DeadLetter:
    return world.letter(tenant, **({"job_type": TYPE} | fields))


def choose(client: Client, kind: str, ids: list[int] | None = None, query: str | None = None) -> Any:
    """Press a button over the list; ``query``: all that match it."""
    form: dict[str, Any] = {"kind": kind, "ids": ids or []}
    if query is not None:
        form |= {"all": "1", "query": query}
    return client.post("/dlq/act/", form, headers={"Referer": "http://testserver/dlq/?owner=billing"})


def draft(client: Client, kind: str, ids: list[int] | None = None, query: str | None = None) -> BulkAction:
    """The same, and the draft that it made."""
    answer = choose(client, kind, ids, query)
    assert answer.status_code == 302, answer.content
    found = re.match(r"/dlq/(?:replays|discards)/(\d+)/\?next=%2Fdlq%2F%3Fowner%3Dbilling$", answer["Location"])
    assert found, answer["Location"]
    return BulkAction.objects.get(pk=int(found[1]))


def confirm(client: Client, bulk: BulkAction, **form: str) -> Any:
    """Press the button of the preview."""
    return client.post(f"/dlq/bulk/{bulk.pk}/confirm/", {"next": "/dlq/?owner=billing", **form})


def said(client: Client) -> str:
    """The messages on the page that the person sees next."""
    text = client.get("/dlq/").content.decode()
    return text[text.index("<main") : text.index('id="live"')]
