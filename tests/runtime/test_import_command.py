"""``manage.py dlq import-rq``: what it prints, what it refuses, and that nothing stops it half-way for good."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pytest_django import Settings
from redis import Redis

from dlq.foreign.sources import Source, shown_url, source_of, typed_source
from dlq.models import DeadLetter, ForeignJob
from jobops.embedded import EmbeddedRedis
from tests.dlq.foreign.plain_rq import CHARGE, EXPLODE, PlainRQ
from tests.runtime import processes
from tests.runtime.asking import ask, refusal, text
from tests.tools import wait_for

SECRET = "h1dden-passw0rd"
COPIES = 3_000


@pytest.fixture
def plain(own_redis: EmbeddedRedis, settings: Settings) -> Iterator[PlainRQ]:
    settings.JOBOPS_RQ_SOURCES = {"old": own_redis.url}
    with Redis.from_url(own_redis.url, socket_timeout=10) as client:
        yield PlainRQ(own_redis, client, Source("old", own_redis.url))


@pytest.mark.usefixtures("both")
def test_it_takes_over_and_says_how_many(plain: PlainRQ) -> None:
    plain.enqueue(EXPLODE, "x")
    plain.enqueue(CHARGE, "c", 1, queue="billing")
    plain.work("default", "billing")

    told = ask("dlq", "import-rq", "--source", "old", "--dry-run")
    assert (told["imported"], told["dry_run"], told["queues"]) == (2, True, {"default": 1, "billing": 1})
    assert DeadLetter.objects.count() == 0
    lines = text("dlq", "import-rq", "--source", "old").splitlines()
    assert lines[0] == "2 taken over from old"
    assert "  error ValueError: 1" in lines
    assert ask("dlq", "import-rq", "--source", "old")["imported"] == 0
    assert DeadLetter.objects.count() == 2


@pytest.mark.usefixtures("both")
def test_a_url_that_no_source_has_gets_a_name_and_the_way_to_replay_is_told(plain: PlainRQ, settings: Settings) -> None:
    plain.enqueue(EXPLODE, "x")
    plain.work()
    assert ask("dlq", "import-rq", "--url", plain.server.url, "--leave")["source"] == "old"
    settings.JOBOPS_RQ_SOURCES = {}

    told = text("dlq", "import-rq", "--url", plain.server.url)

    name = ForeignJob.objects.order_by("-pk").values_list("source", flat=True)[0]
    assert f"add {name}=unix://" in told
    assert "JOBOPS_RQ_SOURCES" in told


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["--source", "new"], 1, "names no 'new'; it names old"),
        (["--source", "old", "--tenant", "nobody"], 1, "--tenant: 'nobody' is not known"),
        (["--source", "old", "--owner", "nobody"], 1, "--owner: no team is called 'nobody'"),
        (["--source", "old", "--follow", "--dry-run"], 2, "--dry-run looks once"),
        (["--source", "old", "--url", "redis://h"], 2, "not allowed with"),
        ([], 2, "one of the arguments --source --url is required"),
        (["--url", "http://h"], 1, "is no URL of a Redis"),
        (["--source", "old", "--every", "soon"], 2, "is no time"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(plain: PlainRQ, arguments: list[str], code: int, why: str) -> None:
    ended, line = refusal("dlq", "import-rq", *arguments)

    assert ended == code
    assert why in line


@pytest.mark.usefixtures("both")
def test_no_password_is_shown_of_a_source_that_is_away(settings: Settings) -> None:
    url = f"redis://user:{SECRET}@127.0.0.1:1/0?password={SECRET}"
    settings.JOBOPS_RQ_SOURCES = {"old": url}

    for arguments in (["--source", "old"], ["--url", url]):
        code, line = refusal("dlq", "import-rq", *arguments)
        assert code == 1
        assert "source old (redis://127.0.0.1:1/0) does not answer" in line
        assert SECRET not in line
    assert SECRET not in repr(Source("old", url))


def test_a_url_is_shown_without_what_is_secret(settings: Settings) -> None:
    settings.JOBOPS_RQ_SOURCES = {"old": "redis://h:6379/0"}
    assert shown_url(f"rediss://a:{SECRET}@h:6380/2?ssl_password={SECRET}") == "rediss://h:6380/2"
    assert typed_source("redis://h:6379/0").name == "old"
    assert typed_source(f"redis://a:{SECRET}@Other.example:6379/3").name == "other.example-6379-3"
    assert source_of("x", "redis://h/0?rq_prefix=shop&db=2") == Source("x", "redis://h/0?db=2", "shop")


@pytest.mark.chaos
@pytest.mark.usefixtures("both")
def test_killed_again_and_again_it_makes_one_letter_of_each(plain: PlainRQ, tmp_path: Path) -> None:
    job = plain.enqueue(EXPLODE, "x")
    plain.work()
    plain.copies(job, COPIES - 1)
    sources = f"old={plain.server.url}"
    before = 0
    for turn in range(3):
        log = tmp_path / f"{turn}.log"
        with processes.running(log, "dlq", "import-rq", "--source", "old", JOBOPS_RQ_SOURCES=sources) as process:
            wait_for(partial(_moved_on, process, before), seconds=60)
            process.send_signal(signal.SIGKILL)
            process.wait()
        before = DeadLetter.objects.count()

    done = processes.run("dlq", "import-rq", "--source", "old", JOBOPS_RQ_SOURCES=sources)

    assert done.returncode == 0, done.stderr
    assert DeadLetter.objects.count() == ForeignJob.objects.count() == COPIES
    assert plain.redis.zcard("rq:failed:default") == 0


def _moved_on(process: subprocess.Popen[bytes], before: int) -> bool:
    return DeadLetter.objects.count() > before or process.poll() is not None


@pytest.mark.chaos
@pytest.mark.usefixtures("both")
def test_following_goes_on_through_an_outage_and_ends_with_a_signal(plain: PlainRQ, tmp_path: Path) -> None:
    log = tmp_path / "follow.log"
    command = ["dlq", "import-rq", "--source", "old", "--follow", "--every", "0.2s"]
    with processes.running(log, *command, JOBOPS_RQ_SOURCES=f"old={plain.server.url}") as process:
        plain.enqueue(EXPLODE, "x")
        plain.work()
        wait_for(lambda: DeadLetter.objects.count() == 1, seconds=60, what="the first letter")
        plain.server.kill()
        wait_for(lambda: b"does not answer" in log.read_bytes(), what="the outage to be told")
        plain.server.start()
        plain.enqueue(EXPLODE, "y")
        plain.work()
        wait_for(lambda: DeadLetter.objects.count() == 2, seconds=60, what="the second letter")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    told = log.read_text()
    assert "both answer again" in told
    assert told.strip().endswith("2 taken over from old")
    assert "Traceback" not in told
