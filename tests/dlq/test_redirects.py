"""Standing redirects: letters of a type that is gone run as the one that it became; nothing unregistered ever runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.bulk import bulk_confirm, bulk_draft
from dlq.bulk_preview import preview
from dlq.bulk_run import run_batch
from dlq.errors import InvalidAction, NotReplayable
from dlq.models import DeadLetter, Redirect, ReplayRun
from dlq.redirects import redirect_create, redirect_delete, redirect_preview, redirects_of
from dlq.replay_plan import AT_ONCE
from dlq.replaying import KEY_IS_HELD, key_refusals
from dlq.services import letter_replay
from jobops.audit.models import AuditEntry
from jobops.contracts.decorator import job
from jobops.contracts.registry import temporary_registry
from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.payload import decode
from tenants.models import Tenant
from tests.dlq.letters import letter, letters
from tests.dlq.replays import run_replays
from tests.runtime import factory

pytestmark = pytest.mark.django_db(transaction=True)
PAYLOAD = '{"args": [], "kwargs": {"number": 7}}'


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    with temporary_registry():

        @job(name="billing.capture", aliases=["billing.take"], owner="b", drain_sla="1h", idempotent="yes", lane="bulk")
        def capture(number: int) -> None: ...

        yield


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def refused(**fields: str) -> InvalidAction:
    with pytest.raises(InvalidAction) as refusal:
        redirect_create(**{"from_type": "pay.old", "to_type": "billing.capture", "by": "tests"} | fields)  # type: ignore[arg-type]
    return refusal.value


def old(acme: Tenant, **fields: str) -> DeadLetter:
    return letter(acme, **{"job_type": "pay.old", "payload": PAYLOAD, "lane": "bulk"} | fields)


def test_a_letter_of_the_old_type_runs_as_the_new_one(both: Engine, acme: Tenant) -> None:
    found = old(acme)
    with pytest.raises(NotReplayable, match=r"pay\.old is not registered"):
        letter_replay(letter_id=found.pk, by="tests")
    redirect_create(from_type="pay.old", to_type="billing.capture", by="tests")
    run = letter_replay(letter_id=found.pk, by="tests")
    made = read_job(both, run.job_id)
    assert made is not None
    assert (made.job_type, decode(made.data)) == ("billing.capture", ("billing.capture", (), {"number": 7}))
    row = AuditEntry.objects.get(action="letter.replay")
    assert row.after["as"] == "billing.capture"
    run_replays(both)
    found.refresh_from_db()
    assert (found.state, found.job_type) == ("resolved", "pay.old")


def test_arguments_that_the_new_type_does_not_take_are_said(acme: Tenant) -> None:
    found = old(acme, payload='{"args": [], "kwargs": {"no": 7}}')
    redirect_create(from_type="pay.old", to_type="billing.capture", by="tests")
    with pytest.raises(NotReplayable, match=r"its arguments do not fit the job type of today: .*'number'"):
        letter_replay(letter_id=found.pk, by="tests")
    assert not ReplayRun.objects.exists()


def test_nothing_unregistered_is_ever_led_to(acme: Tenant) -> None:
    """I10, SE-10: whatever stands in the table."""
    Redirect.objects.create(from_type="pay.old", to_type="os.system", by="evil")
    Redirect.objects.create(from_type="pay.older", to_type="pay.old", by="evil")
    assert redirects_of(["pay.old", "pay.older"]) == {}
    with pytest.raises(NotReplayable, match="is not registered"):
        letter_replay(letter_id=old(acme).pk, by="tests")


def test_a_registered_type_is_led_nowhere(both: Engine) -> None:
    Redirect.objects.create(from_type="billing.capture", to_type="billing.capture", by="x")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert redirects_of(["billing.capture", "billing.take", ""]) == {}
    assert len(queries) == 0


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        ({"to_type": "os.system"}, "to_type", "os.system is not registered; choose"),
        ({"to_type": ""}, "to_type", "choose a registered job type"),
        ({"from_type": "billing.capture"}, "from_type", "billing.capture is registered"),
        ({"from_type": "billing.take"}, "from_type", "billing.take is registered"),
        ({"from_type": " "}, "from_type", "must be the name that letters have"),
        ({"from_type": "x" * 256}, "from_type", "must be the name that letters have"),
        ({"from_type": "a\0b"}, "from_type", "must be the name that letters have"),
        ({"to_type": "pay.old"}, "to_type", "it would lead to itself"),
        ({"note": "x" * 201}, "note", "at most 200 characters"),
    ],
)
def test_what_is_no_redirect_is_refused_by_field(fields: dict[str, str], field: str, problem: str) -> None:
    error = refused(**fields)
    assert error.field == field
    assert problem in error.problem
    assert not Redirect.objects.exists()
    assert not AuditEntry.objects.exists()


def test_chains_are_resolved_once_and_loops_refused() -> None:
    Redirect.objects.create(from_type="pay.oldest", to_type="pay.old", by="x")  # pay.old was registered then
    redirect_create(from_type="pay.old", to_type="billing.take", by="tests", note="renamed in May")
    assert dict(Redirect.objects.values_list("from_type", "to_type")) == {
        "pay.oldest": "billing.capture", "pay.old": "billing.capture",
    }  # fmt: skip
    rows = AuditEntry.objects.order_by("pk").values_list("action", "target_id", "after", "reason")
    assert list(rows) == [
        ("redirect.create", "pay.old", {"to": "billing.capture"}, "renamed in May"),
        ("redirect.set", "pay.oldest", {"to": "billing.capture"}, ""),
    ]
    assert "there is a redirect of pay.old already" in refused().problem
    Redirect.objects.create(from_type="billing.capture", to_type="pay.gone", by="x")  # registered anew since
    error = refused(from_type="pay.gone")
    assert (error.field, "there is a redirect of billing.capture itself" in error.problem) == ("to_type", True)


def test_a_redirect_is_taken_back(acme: Tenant) -> None:
    made = redirect_create(from_type="pay.old", to_type="billing.capture", by="tests")
    redirect_delete(redirect_id=made.pk, by="tests")
    assert AuditEntry.objects.filter(action="redirect.delete", target_id="pay.old").count() == 1
    with pytest.raises(InvalidAction, match="not there any more"):
        redirect_delete(redirect_id=made.pk, by="tests")
    with pytest.raises(NotReplayable):
        letter_replay(letter_id=old(acme).pk, by="tests")


def test_the_preview_says_how_many_would_be_replayable_and_why_others_not(acme: Tenant) -> None:
    letters(acme, 4, job_type="pay.old", payload=PAYLOAD)
    letters(acme, 2, job_type="pay.old", payload='{"args": [], "kwargs": {}}')
    letters(acme, 1, job_type="pay.old", payload="", payload_raw=b"\x80")
    letters(acme, 1, job_type="pay.old", payload=PAYLOAD, state="discarded")
    found = redirect_preview("pay.old", "billing.take")
    assert (found.open, found.checked, found.fit) == (7, 7, 4)
    assert list(found.unfit.values()) == [2, 1]
    assert not Redirect.objects.exists()
    with pytest.raises(InvalidAction):
        redirect_preview("pay.old", "os.system")


def test_a_bulk_replay_asks_for_redirects_once_and_runs_as_the_new_type(both: Engine, acme: Tenant) -> None:
    letters(acme, 30, job_type="pay.old", payload=PAYLOAD, lane="bulk")
    redirect_create(from_type="pay.old", to_type="billing.capture", by="tests")
    bulk = bulk_draft(kind="replay", letters=DeadLetter.objects.all(), by="command:t", chosen="")
    with CaptureQueriesContext(connection) as queries:
        assert preview(bulk).will_do == 30
    assert sum("dlq_redirect" in query["sql"] for query in queries) <= 2
    bulk_confirm(bulk_id=bulk.pk, by="command:t", plan=AT_ONCE)
    with CaptureQueriesContext(connection) as queries:
        run_batch(bulk.pk, 30)
    assert 0 < sum("dlq_redirect" in query["sql"] for query in queries) <= 8
    rows = AuditEntry.objects.filter(action="letter.replay")
    assert rows.count() == ReplayRun.objects.count() == 30
    assert {row.after["as"] for row in rows} == {"billing.capture"}
    ran = {read_job(both, job_id).job_type for job_id in ReplayRun.objects.values_list("job_id", flat=True)}  # type: ignore[union-attr]
    assert ran == {"billing.capture"}


def test_a_key_is_held_under_the_new_types_name(both: Engine, acme: Tenant) -> None:
    found = old(acme, key="k")
    redirect_create(from_type="pay.old", to_type="billing.capture", by="tests")
    both.scripts.enqueue(factory.new_job(lane="bulk", job_type="billing.capture", key="k"))
    assert key_refusals([DeadLetter.objects.select_related("tenant").get(pk=found.pk)]) == {found.pk: KEY_IS_HELD}
