"""``manage.py pause``, ``resume`` and ``limits``, and the rate of a tenant."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobops.audit.models import AuditEntry
from jobops.contracts import registry
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.limits.models import Pause
from jobops.runtime import enqueuer
from tenants.models import Tenant
from tests.contracts.catalogs import declare
from tests.runtime.asking import ask, refusal, text
from tests.runtime.conftest import Outage
from tests.runtime.factory import claim, new_job, settle

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def contracts() -> Iterator[None]:
    with registry.temporary_registry():
        declare(name="pay.invoice", resource="stripe", concurrency=2, rate="50/s")
        declare(name="stripe.sync")
        yield


def row(name: str) -> dict[str, object]:
    return next(each for each in ask("limits", "list") if each["resource"] == name)


def test_the_list_has_the_keys_that_scripts_rely_on(both: Engine) -> None:
    both.prepare()
    enqueuer().enqueue_many([new_job(job_type="pay.invoice", resource="stripe") for _ in range(3)])
    claim(both)
    claim(both)
    assert claim(both) is None
    found = row("stripe")
    keys = ["resource", "kind", "concurrency", "rate", "declared_by", "changed_by", "in_flight", "waiting", "tokens"]
    keys += ["brake_until", "paused", "paused_by", "paused_at", "reason"]
    assert [key for key in keys if key not in found] == []
    assert (found["kind"], found["concurrency"], found["rate"]) == ("resource", 2, "50/s")
    assert (found["in_flight"], found["waiting"], found["declared_by"]) == (2, 1, ["pay.invoice"])
    assert (found["paused"], found["brake_until"], found["in_force"]) == (False, None, True)
    assert "stripe" in text("limits", "list")


@pytest.mark.parametrize("named", [["--resource", "stripe"], ["stripe"]])
def test_pause_and_resume_a_resource(both: Engine, named: list[str]) -> None:
    assert text("pause", *named, "--reason", "429") == "paused resource stripe\n"
    found = row("stripe")
    assert (found["paused"], found["reason"]) == (True, "429")
    assert str(found["paused_by"]).startswith("command:")
    code, line = refusal("pause", *named)
    assert code == 1
    assert line.startswith("resource stripe is already paused by command:")
    assert text("resume", *named) == "resumed resource stripe\n"
    assert refusal("resume", *named) == (1, "resource stripe is not paused")
    assert [entry.action for entry in AuditEntry.objects.filter(target_kind="resource").order_by("pk")] == [
        "resource.pause",
        "resource.resume",
    ]


def test_pause_everything_stands_first_in_the_list(both: Engine) -> None:
    assert ask("pause", "--all", "--reason", "moving") == {"kind": "all", "name": "", "paused": True}
    first = ask("limits", "list")[0]
    assert (first["kind"], first["resource"], first["paused"], first["reason"]) == ("all", "all", True, "moving")
    assert both.scripts.is_paused()
    text("resume", "--all")
    assert [each["kind"] for each in ask("limits", "list")] == ["resource"]


def test_pause_a_job_type(both: Engine) -> None:
    assert text("pause", "--job", "pay.invoice") == "paused job type pay.invoice\n"
    assert (row("pay.invoice")["kind"], row("pay.invoice")["paused"]) == ("type", True)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["pause", "strip"], 1, "NAME: no job type or resource is called 'strip'; did you mean stripe"),
        (["pause", "--job", "pay.invoce"], 1, "--job: no job type is called 'pay.invoce'; did you mean pay.invoice?"),
        (["resume", "--resource", "zzz"], 1, "--resource: no resource is called 'zzz'; `manage.py catalog` shows"),
        (["pause"], 2, "pause: name one thing: NAME, --job NAME, --resource NAME or --all"),
        (["pause", "stripe", "--all"], 2, "pause: name one thing"),
        (["limits", "set", "stripe", "--reason", "x"], 2, "limits set: give --concurrency, --rate or both"),
        (["limits", "set", "stripe", "--rate", "fast", "--reason", "x"], 1, "--rate: 'fast' is no rate; write it as"),
        (["limits", "set", "stripe", "--concurrency", "0", "--reason", "x"], 2, "'0' must be a whole number from 1"),
        (["limits", "set", "stripe", "--concurrency", "1", "--reason", ""], 1, "--reason: say why"),
        (["limits", "set", "stripe", "--concurrency", "200000", "--reason", "x"], 1, "--concurrency: 200000 must be"),
        (["limits", "reset", "stripe"], 1, "the limits of resource stripe are as its contracts declare them"),
        (["limits", "release", "stripe"], 1, "no brake is on at resource stripe"),
    ],
)
def test_what_cannot_be_is_one_clear_line(both: Engine, arguments: list[str], code: int, says: str) -> None:
    found = refusal(*arguments)
    assert found[0] == code
    assert says in found[1]


def test_a_name_of_both_kinds_must_say_which(both: Engine) -> None:
    declare(name="stripe")
    code, line = refusal("pause", "stripe")
    assert (code, "both a job type and a resource: say --job stripe or --resource stripe" in line) == (1, True)
    assert not Pause.objects.exists()


def test_set_reset_and_release(both: Engine) -> None:
    both.prepare()
    found = ask("limits", "set", "stripe", "--concurrency", "1", "--reason", "they asked")
    assert (found["concurrency"], found["rate"], found["change_reason"]) == (1, "50/s", "they asked")
    assert str(found["changed_by"]).startswith("command:")
    assert text("limits", "set", "stripe", "--rate", "none", "--reason", "x") == "changed resource stripe\n"
    assert (row("stripe")["concurrency"], row("stripe")["rate"]) == (1, None)
    enqueuer().enqueue(new_job(job_type="pay.invoice", resource="stripe"))
    job = claim(both)
    assert job is not None
    settle(both, job, Outcome.postponed(60_000, "RetryLater", "429", brake=True))
    assert (row("stripe")["brake_by"], row("stripe")["brake_said"]) == (job.id, "RetryLater: 429")
    text("pause", "stripe", "--reason", "moving")
    assert (row("stripe")["reason"], row("stripe")["brake_said"]) == ("moving", "RetryLater: 429")
    assert "RetryLater: 429" in text("limits", "list")
    text("resume", "stripe")
    assert text("limits", "release", "stripe") == "released the brake of resource stripe\n"
    assert (row("stripe")["brake_until"], row("stripe")["brake_said"]) == (None, None)
    assert text("limits", "reset", "stripe") == "reset resource stripe\n"
    assert (row("stripe")["concurrency"], row("stripe")["rate"], row("stripe")["changed_by"]) == (2, "50/s", None)


def test_a_job_type_that_declares_nothing_can_be_limited_too(both: Engine) -> None:
    found = ask("limits", "set", "--job", "stripe.sync", "--concurrency", "1", "--reason", "x")
    assert (found["kind"], found["resource"], found["concurrency"]) == ("type", "stripe.sync", 1)
    text("limits", "reset", "stripe.sync")
    assert "stripe.sync" not in [each["resource"] for each in ask("limits", "list")]


def test_a_pause_that_is_not_in_force_fails_and_says_so(outage: Outage) -> None:
    """CC-10: who gets exit code 0 can rely on it."""
    outage.begin()
    code, line = refusal("pause", "stripe")
    assert code == 1
    assert "resource stripe is marked paused, but not in force yet: Redis could not be reached" in line
    outage.end()


def test_a_tenants_rate_is_set_shown_and_taken_off(both: Engine) -> None:
    text("tenants", "set", "acme", "--rate", "120/m")
    policy = both.scripts.policy("acme")
    assert policy is not None
    assert str(policy.rate) == "120/m"
    assert [each["rate"] for each in ask("tenants", "list")] == ["120/m"]
    assert refusal("tenants", "set", "acme", "--rate", "fast") == (
        1,
        """--rate: 'fast' is no rate; write it as "50/s", "100/m" or "2/3s": so many in so much time, or none""",
    )
    text("tenants", "set", "acme", "--rate", "none")
    assert Tenant.objects.get().rate == ""
    text("tenants", "create", "other", "--rate", "2/3s")
    assert [each["rate"] for each in ask("tenants", "list")] == [None, "2/3s"]
    assert AuditEntry.objects.filter(action="tenant.set", after__rate="120/m").exists()
