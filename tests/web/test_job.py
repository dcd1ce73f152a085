"""A job's page, ``/jobs/<id>/``."""

from __future__ import annotations

import pickle
import uuid
import zlib
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from dlq.intake import take_in
from jobops.context import outbox
from jobops.contracts.decorator import job as contract
from jobops.contracts.registry import temporary_registry
from jobops.engine.records import NewJob, Outcome
from tenants.roles import Role
from tests.web.world import World


@pytest.fixture
def send() -> Iterator[None]:
    """The one job type there is, with a secret argument."""
    with temporary_registry():

        @contract(
            name="shop.jobs.send",
            owner="billing",
            drain_sla="4h",
            idempotent="upserts by invoice id",
            timeout="30s",
            redact=["card"],
        )
        def send(number: int, card: str = "", url: str = "") -> None: ...

        yield


def body(client: Client, job_id: str) -> str:
    answer = client.get(f"/jobs/{job_id}/")
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_each_state_is_a_sentence(world: World, send: None) -> None:
    tenant = world.tenant("acme", cap=None)
    staff, own = world.client(Role.STAFF_VIEWER), world.client(Role.TENANT_VIEWER, tenant)
    done = world.enqueue("acme")
    world.settle(world.claim(), Outcome.succeeded(b'{"sent": 3}'))
    dead = world.enqueue("acme", max_attempts=1)
    world.settle(world.claim(), Outcome.failed("error", "KeyError", "no such invoice", "Traceback: …"))
    dropped = world.enqueue("acme")
    world.settle(world.claim(), Outcome.discarded("Gone", "410"))
    running = world.enqueue("acme")
    world.claim()
    later = world.enqueue("acme", delay_ms=2 * 3600_000)
    waiting = world.enqueue("acme")
    cancelled = world.enqueue("acme")
    world.engine.scripts.cancel(cancelled)
    sentences = {
        done: ("send succeeded in", "Send succeeded in"),
        dead: ("send gave up after 1 attempt", "Send did not work; tried 1 time"),
        dropped: ("send ended without success, as its contract allows", "Send ended without success"),
        running: ("send is running, for ", "Send is running, for "),
        later: ("send runs in 1\N{NO-BREAK SPACE}h\N{NO-BREAK SPACE}59\N{NO-BREAK SPACE}min", "Send runs in 1"),
        waiting: ("send waits, for ", "Send waits, for "),
        cancelled: ("send was cancelled", "Send was cancelled"),
    }
    for job_id, (to_staff, to_own) in sentences.items():
        assert f"<h1>{to_staff}" in body(staff, job_id)
        assert f"<h1>{to_own}" in body(own, job_id)
    assert "{&quot;sent&quot;: 3}" in body(staff, done)


def test_a_page_polls_only_while_the_job_can_change(world: World) -> None:
    world.tenant("acme")
    waiting = world.enqueue("acme", lane="interactive")
    client = world.client(Role.OPERATOR)
    assert f'hx-get="/live/jobs/{waiting}/"' in body(client, waiting)
    world.settle(world.claim(), Outcome.succeeded())
    assert "hx-get" not in body(client, waiting)
    assert "live.js" not in body(client, waiting)


def test_every_attempt_has_a_row_with_how_it_ended(world: World, send: None) -> None:
    world.tenant("acme")
    job = world.enqueue("acme", max_attempts=3)
    for cause in ("error", "timeout"):
        world.settle(world.claim(), Outcome.failed(cause, "Boom", f"went {cause}"))  # type: ignore[arg-type]
        world.engine.scripts.promote()
    world.claim()
    text = body(world.client(Role.STAFF_VIEWER), job)
    assert '<h2 id="at">3 attempts of 3</h2>' in text
    assert text.count('<tr id="a-') == 3
    assert "Boom: went error" in text
    assert "Still running" in text
    assert "worker-1.0" in text


def test_the_tenants_people_see_neither_worker_nor_traceback_nor_owner(world: World, send: None) -> None:
    tenant = world.tenant("acme")
    job = world.enqueue("acme", max_attempts=1)
    world.settle(world.claim(), Outcome.failed("error", "KeyError", "no such invoice", "Traceback /srv/secret/path"))
    world.letter(tenant, job_id=job, attempt=1)
    text = body(world.client(Role.TENANT_ADMIN, tenant), job)
    assert "no such invoice" in text
    for hidden in ("worker-1.0", "/srv/secret/path", "billing", "KeyError"):
        assert hidden not in text


@pytest.mark.parametrize("role", [Role.STAFF_VIEWER, Role.ON_CALL, Role.TENANT_ADMIN, Role.TENANT_VIEWER])
def test_secrets_are_masked_in_arguments_and_where_an_error_repeats_them(world: World, send: None, role: Role) -> None:
    """SE-06: by the contract's ``redact``, by name, and logins in URLs."""
    tenant = world.tenant("acme")
    arguments = {"number": 42, "card": "4242-4242", "url": "https://ada:hunter2@pay.example/x"}
    job = world.enqueue("acme", arguments=arguments, max_attempts=1)
    error = "card 4242-4242 refused by https://ada:hunter2@pay.example/x"
    world.settle(world.claim(), Outcome.failed("error", "Refused", error, f"Traceback\n{error}"))
    text = body(world.client(role, tenant), job)
    assert "4242-4242" not in text
    assert "hunter2" not in text
    assert '<code class="val">42</code>' in text
    assert "card •••••••• refused by https://••••••••@pay.example/x" in text


def test_who_was_granted_payloads_sees_them_whole(world: World, send: None) -> None:
    world.tenant("acme")
    job = world.enqueue("acme", arguments={"number": 42, "card": "4242-4242"})
    user = world.person(Role.OPERATOR)
    user.user_permissions.add(Permission.objects.get(codename="see_payload"))
    granted = Client()
    granted.force_login(user)
    assert "4242-4242" in body(granted, job)
    assert "4242-4242" not in body(world.client(Role.OPERATOR), job)


def test_of_a_type_this_process_does_not_know_every_argument_is_masked(world: World) -> None:
    tenant = world.tenant("acme")
    job = world.enqueue("acme", "unknown.kind", arguments={"anything": "sensitive"})
    assert "sensitive" not in body(world.client(Role.TENANT_ADMIN, tenant), job)
    assert "sensitive" in body(world.client(Role.SUPERUSER), job)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(("os.system", None, ("id",), {})),
        zlib.compress(pickle.dumps({"a": 1})),
        b"",
        b"null",
        b'["name", null, {}, []]',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_payload_that_is_none_of_ours_never_breaks_the_page(world: World, data: bytes) -> None:
    """PX-07, I10: it is neither unpickled nor guessed at."""
    world.tenant("acme")
    job = world.enqueue("acme")
    world.engine.redis.hset(f"rq:job:{job}", "data", data)
    assert "They cannot be read" in body(world.client(Role.SUPERUSER), job)


def test_a_job_in_the_outbox_has_its_page(world: World) -> None:
    tenant = world.tenant("acme")
    data = b'["shop.jobs.send", null, [], {"number": 1}]'
    new = NewJob(id=uuid.uuid4().hex, tenant="acme", lane="bulk", job_type="shop.jobs.send", data=data)
    outbox.write([new])
    text = body(world.client(Role.TENANT_VIEWER, tenant), new.id)
    assert "Send is on its way to the queue" in text


def test_a_job_that_redis_has_forgotten_is_shown_from_its_dead_letter(world: World) -> None:
    tenant = world.tenant("acme")
    letter = world.letter(tenant, due_at=timezone.now() - timedelta(minutes=5))
    text = body(world.client(Role.ON_CALL), letter.job_id)
    assert "send gave up after 3 attempts" in text
    assert "What its attempts were is not kept any longer." in text
    assert "Overdue" in text


def test_the_attempts_of_a_dead_job_are_shown_from_its_letter_when_redis_has_forgotten_them(world: World) -> None:
    world.tenant("acme")
    job_id = world.enqueue("acme", arguments={"number": 1})
    world.settle(world.claim(), Outcome.failed("poison", "CardRefused", "the card was refused", "Traceback: x"))
    take_in(world.engine)
    world.engine.redis.delete(f"rq:job:{job_id}")
    text = body(world.client(Role.ON_CALL), job_id)
    assert "not kept any longer" not in text
    assert "1 attempt of 5" in text
    assert text.count("CardRefused") >= 2, "in the headline and in the attempt"


def test_a_letter_of_a_former_tenant_of_the_same_slug_is_the_staffs_only(world: World) -> None:
    """I9: a slug may be given to another customer."""
    tenant = world.tenant("acme")
    letter = world.letter(tenant)
    type(letter).objects.filter(pk=letter.pk).update(tenant=None)
    assert world.client(Role.TENANT_ADMIN, tenant).get(f"/jobs/{letter.job_id}/").status_code == 404
    assert world.client(Role.ON_CALL).get(f"/jobs/{letter.job_id}/").status_code == 200


@pytest.mark.parametrize("job_id", ["a", "0" * 32, "x" * 201, "x" * 5000, "-"])
def test_ids_of_nothing_are_not_found(world: World, job_id: str) -> None:
    assert world.client(Role.OPERATOR).get(f"/jobs/{job_id}/").status_code == 404


def test_redis_being_away_is_said_and_a_poll_gets_503(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from redis.exceptions import ConnectionError as RedisConnectionError

    from jobops.web.selectors import jobs, snapshot

    def away(*_: object) -> None:
        raise RedisConnectionError("redis://:s3cret@host")

    client = world.client(Role.OPERATOR)
    monkeypatch.setattr(jobs, "why", away)
    monkeypatch.setattr(snapshot, "get_engine", away)
    for url in ("/", "/tenants/", "/workers/", "/jobs/abc/"):
        answer = client.get(url)
        assert answer.status_code == 503
        assert "Redis cannot be reached." in answer.content.decode()
        assert "s3cret" not in answer.content.decode()
    assert client.get("/live/overview/").status_code == 503


def test_while_redis_is_away_a_dead_job_is_shown_from_its_letter(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from redis.exceptions import TimeoutError as RedisTimeoutError

    from jobops.web.selectors import jobs, reach

    asked = []

    def away(job_id: str) -> None:
        asked.append(job_id)
        raise RedisTimeoutError("Timeout reading from socket")

    acme, rival = world.tenant("acme"), world.tenant("rival")
    letter, foreign = world.letter(acme, error="the provider did not answer"), world.letter(rival)
    staff, own = world.client(Role.ON_CALL), world.client(Role.TENANT_VIEWER, acme)
    monkeypatch.setattr(jobs, "why", away)
    monkeypatch.setattr(reach, "AWAY_S", 60.0)
    text = body(staff, letter.job_id)
    for shown in ("send gave up after 3 attempts", "Redis cannot be reached.", "the provider did not answer"):
        assert shown in text
    assert f"No. {letter.pk}" in text
    text = body(own, letter.job_id)
    assert "Not all is known just now." in text
    assert "Redis" not in text
    foreign_answer, missing = own.get(f"/jobs/{foreign.job_id}/"), own.get("/jobs/abc/")
    assert foreign_answer.status_code == missing.status_code == 503
    assert staff.get("/").status_code == 503
    assert len(asked) == 1, "it was away a moment ago: nobody waits for it again"
