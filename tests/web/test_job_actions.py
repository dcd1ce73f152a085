"""The buttons of a job's page: cancel, stop, run now."""

from __future__ import annotations

import re

import pytest

from jobops.audit.models import AuditEntry
from jobops.context import outbox
from jobops.engine.jobs import read_job
from jobops.engine.records import Outcome
from tenants.roles import Role
from tests.runtime.factory import new_job
from tests.web.world import World

HOUR_MS = 3_600_000
MAY = [Role.SUPERUSER, Role.OPERATOR, Role.ON_CALL]


def state(world: World, job_id: str) -> str:
    view = read_job(world.engine, job_id)
    assert view is not None
    return view.state


def buttons(text: str) -> list[tuple[str, bool]]:
    """Each button of the head and whether it can be pressed."""
    acts = text.partition('<div class="acts">')[2].partition('<div class="cols">')[0]
    found = re.findall(r'<(a|button) class="btn[^"]*"([^>]*)>(.*?)</(?:a|button)>', acts, re.DOTALL)
    return [(re.sub(r"<[^>]+>|\s+", " ", words).strip(), "aria-disabled" not in how) for _, how, words in found]


@pytest.mark.parametrize("role", MAY)
def test_each_state_has_its_buttons(world: World, role: Role) -> None:
    world.tenant("acme", cap=None)
    client = world.client(role)
    running = world.enqueue("acme")
    world.claim()
    jobs = {
        running: [("Stop", True)],
        world.enqueue("acme"): [("Cancel", True)],
        world.enqueue("acme", delay_ms=HOUR_MS): [("Run now", True), ("Cancel", True)],
    }
    for job, right in jobs.items():
        assert buttons(client.get(f"/jobs/{job}/").content.decode()) == right
    world.engine.scripts.stop(running)
    assert buttons(client.get(f"/jobs/{running}/").content.decode()) == []
    done = world.enqueue("acme", lane="interactive")
    world.settle(world.claim(), Outcome.succeeded())
    assert buttons(client.get(f"/jobs/{done}/").content.decode()) == []


@pytest.mark.parametrize("role", [Role.STAFF_VIEWER, Role.TENANT_ADMIN, Role.TENANT_VIEWER])
def test_who_may_not_sees_why(world: World, role: Role) -> None:
    tenant = world.tenant("acme", may_replay=True, may_pause=True)
    job = world.enqueue("acme", delay_ms=HOUR_MS)
    text = world.client(role, tenant).get(f"/jobs/{job}/").content.decode()
    assert buttons(text) == [("Run now", False), ("Cancel", False)]
    assert "why-not" in text
    running = world.enqueue("acme")
    world.claim()
    text = world.client(role, tenant).get(f"/jobs/{running}/").content.decode()
    assert buttons(text) == [("Stop", False)]
    assert 'id="stop"' not in text


def test_cancel_ends_a_waiting_job(world: World) -> None:
    tenant = world.tenant("acme")
    job, client = world.enqueue("acme"), world.client(Role.ON_CALL)
    answer = client.post(f"/jobs/{job}/cancel/", follow=True)
    assert answer.redirect_chain == [(f"/jobs/{job}/", 302)]
    assert "The job was cancelled." in answer.content.decode()
    assert state(world, job) == "cancelled"
    assert AuditEntry.objects.get(target_kind="job").tenant_id == tenant.pk
    again = client.post(f"/jobs/{job}/cancel/", follow=True)
    assert "Nothing was changed. It has ended already." in again.content.decode()
    assert AuditEntry.objects.filter(target_kind="job").count() == 1


def test_a_job_that_waits_for_a_limit_is_cancelled_too(world: World) -> None:
    world.tenant("acme")
    world.engine.scripts.set_limit("stripe", 0, None)
    job = world.enqueue("acme", resource="stripe")
    assert world.engine.scripts.claim("s", 1, "w", ["bulk"], 0).job is None
    client = world.client(Role.ON_CALL)
    assert buttons(client.get(f"/jobs/{job}/").content.decode()) == [("Cancel", True)]
    client.post(f"/jobs/{job}/cancel/")
    assert state(world, job) == "cancelled"


@pytest.mark.parametrize(("ticked", "mark"), [("", "end"), ("1", "retry")])
def test_stop_marks_the_job_with_who_and_why(world: World, ticked: str, mark: str) -> None:
    world.tenant("acme")
    job, client = world.enqueue("acme"), world.client(Role.ON_CALL)
    world.claim()
    page = client.get(f"/jobs/{job}/").content.decode()
    assert f'action="/jobs/{job}/stop/"' in page
    assert 'name="retry" value="1"' in page
    answer = client.post(f"/jobs/{job}/stop/", {"reason": "wrong file", "retry": ticked}, follow=True)
    assert "The job is being stopped" in answer.content.decode()
    lease = world.engine.redis.hgetall(world.engine.keys.lease(job))
    row = AuditEntry.objects.get(target_kind="job")
    assert (lease[b"stop"].decode(), lease[b"stop_note"].decode()) == (mark, f"stopped by {row.actor}: wrong file")
    assert (row.action, row.reason, row.actor_kind) == ("job.stop", "wrong file", "person")


def test_stop_of_one_that_ended_meanwhile_is_said(world: World) -> None:
    """DL-18: by what is, not by what the page showed."""
    world.tenant("acme")
    job, client = world.enqueue("acme"), world.client(Role.OPERATOR)
    world.settle(world.claim(), Outcome.succeeded())
    answer = client.post(f"/jobs/{job}/stop/", follow=True)
    assert "Nothing was changed. It has ended already." in answer.content.decode()
    assert AuditEntry.objects.filter(target_kind="job").count() == 0


def test_on_its_last_attempt_it_is_not_stopped_to_run_again(world: World) -> None:
    world.tenant("acme")
    job, client = world.enqueue("acme", max_attempts=1), world.client(Role.ON_CALL)
    world.claim()
    page = client.get(f"/jobs/{job}/").content.decode()
    assert 'name="retry"' not in page
    assert "This is its last attempt: it does not run again." in page
    answer = client.post(f"/jobs/{job}/stop/", {"retry": "1"}, follow=True)
    assert "Nothing was changed. This is its last attempt, after which it cannot run again" in answer.content.decode()
    assert world.engine.redis.hget(world.engine.keys.lease(job), "stop") in (None, b"")
    assert AuditEntry.objects.filter(target_kind="job").count() == 0


def test_stop_of_one_in_the_outbox_says_where_it_is(world: World) -> None:
    world.tenant("acme")
    (row,) = outbox.write([new_job(lane="bulk")])
    client = world.client(Role.ON_CALL)
    assert buttons(client.get(f"/jobs/{row.id}/").content.decode()) == [("Cancel", True)]
    answer = client.post(f"/jobs/{row.id}/stop/", follow=True).content.decode()
    assert "It waits in the outbox and does not run: what waits is cancelled, not stopped." in answer


def test_run_now_sends_it_to_its_queue(world: World) -> None:
    world.tenant("acme")
    job, client = world.enqueue("acme", delay_ms=HOUR_MS), world.client(Role.OPERATOR)
    answer = client.post(f"/jobs/{job}/run-now/", follow=True)
    assert "The job was sent to its queue." in answer.content.decode()
    assert state(world, job) == "queued"
    assert AuditEntry.objects.get(target_kind="job").action == "job.run_now"
    again = client.post(f"/jobs/{job}/run-now/", follow=True)
    assert "It does not wait for a time any more." in again.content.decode()


def test_redis_being_away_is_said_without_its_address(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """SE-07"""
    from redis.exceptions import ConnectionError as RedisConnectionError

    from jobops.web.views import job_actions

    def away(**_: object) -> str:
        raise RedisConnectionError("redis://:s3cret@host")

    world.tenant("acme")
    job, client = world.enqueue("acme"), world.client(Role.OPERATOR)
    monkeypatch.setattr(job_actions, "job_cancel", away)
    text = client.post(f"/jobs/{job}/cancel/", follow=True).content.decode()
    assert "Nothing was changed: Redis cannot be reached." in text
    assert "s3cret" not in text


def test_an_id_that_is_too_long_is_not_found(world: World) -> None:
    assert world.client(Role.OPERATOR).post(f"/jobs/{'x' * 300}/stop/").status_code == 404
