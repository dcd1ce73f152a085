"""``manage.py enqueue``: keys that scripts rely on, exit codes, one clear line on stderr."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from tests.runtime.asking import ask, refusal
from tests.runtime.conftest import Outage
from tests.runtime.factory import waiting
from tests.runtime.processes import run

pytestmark = pytest.mark.django_db(transaction=True)


def test_enqueue_answers_with_the_keys_that_scripts_rely_on(both: Engine) -> None:
    got = ask("enqueue", "tests.echo", "--tenant", "acme", "--kwargs", '{"value": 7}')
    assert got == {
        "id": got["id"], "tenant": "acme", "job": "tests.echo", "queue": "acme.interactive", "state": "queued",
    }  # fmt: skip
    assert waiting(both) == [got["id"]]


def test_enqueue_takes_lane_key_and_delay(both: Engine) -> None:
    options = ("--tenant", "acme", "--lane", "bulk", "--key", "k", "--run-after", "1h30m")
    first = ask("enqueue", "tests.echo", *options)
    again = ask("enqueue", "tests.echo", *options)
    assert (first["queue"], first["state"]) == ("acme.bulk", "scheduled")
    assert (again["id"], again["state"]) == (first["id"], "coalesced")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("tests.ecko", "--tenant", "acme"), 1, "JOB: no job type is called 'tests.ecko'; did you mean tests.echo"),
        (("os.system", "--tenant", "acme"), 1, "JOB: no job type is called 'os.system'"),
        (("tests.echo", "--tenant", "nobody"), 1, "--tenant: 'nobody' is not known"),
        (("tests.echo", "--tenant", "No Slug"), 1, "--tenant: 'No Slug'"),
        (
            ("tests.echo", "--tenant", "acme", "--lane", "fast"),
            1,
            "--lane: 'fast' is not configured; the lanes are interactive, bulk",
        ),
        (("tests.echo", "--tenant", "acme", "--key", "k" * 201), 1, "--key: "),
        (("tests.echo", "--tenant", "acme", "--kwargs", "{"), 2, "--kwargs"),
        (("tests.echo", "--tenant", "acme", "--kwargs", "[1]"), 2, "--kwargs"),
        (("tests.echo", "--tenant", "acme", "--kwargs", '{"value": NaN}'), 1, "--kwargs: value: "),
        (("tests.echo", "--tenant", "acme", "--run-after", "soon"), 2, "--run-after"),
        (("tests.echo", "--tenant", "acme", "--run-after=-5s"), 2, "--run-after"),
    ],
)
def test_enqueue_refuses_in_one_line_that_names_the_field(
    both: Engine, arguments: tuple[str, ...], code: int, says: str
) -> None:
    """SE-10: also that only registered job types can be asked for."""
    got, message = refusal("enqueue", *arguments)
    assert got == code
    assert says in message
    assert both.redis.keys("rq:job:*") == []


def test_enqueue_during_an_outage_says_that_the_job_waits_in_the_outbox(outage: Outage) -> None:
    outage.begin()
    got = ask("enqueue", "tests.echo", "--tenant", "acme")
    assert got["state"] == "outbox"
    assert ask("jobs", "show", got["id"])["state"] == "outbox"


def test_exit_codes_of_the_real_process(both: Engine) -> None:
    done = run("enqueue", "nothing.like.it", "--tenant", "acme")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.strip().splitlines()) == 1
    assert run("enqueue").returncode == 2
    assert run("jobs", "list", "--state", "paused").returncode == 2
    assert run("jobs", "list", "--limit", "0").returncode == 2
    helped = run("jobs", "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
