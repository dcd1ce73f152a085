"""What commands change is in the audit by the name of who ran them; ``manage.py audit`` shows it."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from jobops.audit import recording
from jobops.audit.models import AuditEntry
from jobops.audit.recording import Change
from jobops.context.models import OutboxEntry
from jobops.management.base import command_actor
from tests.runtime import example_jobs
from tests.web.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(engine: Any) -> World:
    return World(engine)


def run(*arguments: str) -> Any:
    out = StringIO()
    call_command(*arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def rows() -> list[tuple[str, str, str]]:
    return list(AuditEntry.objects.order_by("id").values_list("action", "target_id", "tenant_slug"))


def test_each_run_of_a_command_has_one_id_and_the_login(world: World) -> None:
    call_command("tenants", "create", "acme", stdout=StringIO())
    call_command("tenants", "delete", "acme", "--force", stdout=StringIO())
    created, *deleted = AuditEntry.objects.order_by("id")
    assert {entry.actor for entry in (created, *deleted)} == {command_actor()}
    assert command_actor().startswith("command:")
    assert {entry.actor_kind for entry in (created, *deleted)} == {"command"}
    assert [entry.action for entry in deleted] == ["tenant.pause", "tenant.delete"]
    assert len({entry.request_id for entry in deleted}) == 1
    assert created.request_id not in ("", deleted[0].request_id)


def test_a_job_that_is_cancelled(world: World) -> None:
    tenant = world.tenant("acme")
    job = world.enqueue("acme", key="invoice:1")
    run("jobs", "cancel", job)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target_id, entry.tenant_id) == ("job.cancel", job, tenant.pk)
    assert (entry.before["state"], entry.after["state"]) == ("queued", "cancelled")
    with pytest.raises(CommandError):
        run("jobs", "cancel", job)
    other = world.enqueue("acme", key="invoice:2")
    run("jobs", "cancel", "--key", "invoice:2", "--tenant", "acme", "--job", "shop.jobs.send")
    assert rows() == [("job.cancel", job, "acme"), ("job.cancel", other, "acme")]
    assert "number" not in json.dumps(list(AuditEntry.objects.values("before", "after")))


def test_a_parked_row_that_is_pushed_again(world: World) -> None:
    world.tenant("acme")
    OutboxEntry.objects.create(
        id="parked", tenant="acme", lane="bulk", job_type="shop.jobs.send", data=b"", state="parked",
        parked_as="refused", timeout_ms=1000, lease_ms=1000, max_attempts=1, result_ttl_s=60,
        created_at=timezone.now(), next_try_at=timezone.now(),
    )  # fmt: skip
    run("jobs", "unpark", "parked")
    assert rows() == [("job.unpark", "parked", "acme")]
    with pytest.raises(CommandError):
        run("jobs", "unpark", "parked")
    assert len(rows()) == 1


def test_a_worker_that_is_asked_to_drain(world: World) -> None:
    world.worker(name="w-1")
    with pytest.raises(CommandError):
        run("workers", "drain", "w-2")
    run("workers", "drain", "w-1")
    assert rows() == [("worker.drain", "w-1", "")]


def test_a_job_that_is_enqueued_by_hand(world: World) -> None:
    world.tenant("acme")
    assert example_jobs.child  # its type is registered
    job = run("enqueue", "tests.child", "--tenant", "acme", "--kwargs", '{"slug": "77777"}')
    assert rows() == [("job.enqueue", job["id"], "acme")]
    assert "77777" not in json.dumps(list(AuditEntry.objects.values("before", "after")))


def test_the_command_lists_the_newest_first_and_filters() -> None:
    for number in range(3):
        recording.record("command:root", Change("letter.replay", "letter", number, 1, "acme", {}, {"n": number}, "x"))
    recording.record("ada", Change("tenant.set", "tenant", "acme", 1, "acme"))
    assert [row["target_id"] for row in run("audit")] == ["acme", "2", "1", "0"]
    assert [row["target_id"] for row in run("audit", "--action", "letter", "--limit", "2")] == ["2", "1"]
    (row,) = run("audit", "--target", "letter:1", "--who", "root", "--since", "1h")
    assert row | {"at": "", "id": 0} == {
        "id": 0, "at": "", "actor": "command:root", "actor_kind": "command", "action": "letter.replay",
        "target_kind": "letter", "target_id": "1", "tenant": "acme", "before": {}, "after": {"n": 1}, "reason": "x",
        "request_id": "",
    }  # fmt: skip
    assert run("audit", "--until", (timezone.now() - timedelta(days=1)).isoformat()) == []
    out = StringIO()
    call_command("audit", "--limit", "2", stdout=out)
    heading, newest, older, _more = out.getvalue().splitlines()
    assert re.split(r"  +", heading) == ["at", "who", "action", "target", "tenant", "from to", "reason", "request"]
    assert (newest.split()[3:], older.split()[3:]) == (
        ["tenant:acme", "acme", "-", "-", "-"],
        ["letter:2", "acme", "n", "2", "x", "-"],
    )
    assert out.getvalue().splitlines()[-1] == "the newest 2; --limit N shows more"


def test_a_former_tenants_rows_are_found_by_the_slug_it_had() -> None:
    recording.record("ada", Change("tenant.set", "tenant", "acme", 4, "acme"))
    recording.record("ada", Change("tenant.delete", "tenant", "acme", 4, "acme"))
    recording.record("ada", Change("tenant.set", "tenant", "rival", 5, "rival"))
    assert [row["action"] for row in run("audit", "--tenant", "acme")] == ["tenant.delete", "tenant.set"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--since", "soon"), 2),
        (("--target", "letter"), 2),
        (("--action", "!"), 2),
        (("--limit", "0"), 2),
        (("--tenant", "nobody"), 1),
    ],
)
def test_wrong_usage_and_unknown_tenants_are_told_in_one_line(arguments: tuple[str, ...], code: int) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("audit", *arguments, stdout=StringIO())
    assert caught.value.returncode == code
    assert "\n" not in str(caught.value)
