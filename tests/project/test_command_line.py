"""What every command of ours keeps to: wrong usage is one line and exit code 2; a success says nothing on stderr."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from jobops.embedded import EmbeddedRedis, advice, silence
from jobops.management.base import OneLineCommand
from tests.project.test_settings import ROOT, start

OURS = sorted(name for name, app in get_commands().items() if app == "jobops")


@pytest.mark.parametrize("name", OURS)
def test_wrong_usage_is_one_line_and_code_2(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = load_command_class("jobops", name)
    assert isinstance(command, OneLineCommand)
    command._called_from_command_line = True
    with pytest.raises(SystemExit) as caught:
        command.create_parser("manage.py", name).parse_args(["--no-such-option"])
    assert caught.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert told.err.startswith(f"manage.py {name}: ")
    with pytest.raises(CommandError) as refused:
        call_command(name, "--no-such-option")
    assert refused.value.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("jobs", "list", "--limit", "0"), "argument --limit: '0' must be a whole number from 1 to 10000; see "),
        (("jobs", "list", "--limit", "abc"), "from 1 to 10000"),
        (("jobs", "list", "--limit", "100000"), "from 1 to 10000"),
        (("jobs", "list", "--limit", "-5"), "'-5' must be a whole number from 1 to 10000"),
        (("jobs", "list", "--state", "resting"), "choose from "),
        (("jobs", "lst"), "manage.py jobs: "),
        (("jobs",), "list|show|why|cancel|stop|run-now|unpark"),
        (("enqueue", "a.b", "--tenant", "t", "--run-after", "-5s"), "--run-after: '-5s' is not a duration"),
        (("queues", "--watch", "--json"), "give one of the two"),
        (("dev", "--processes", "65"), "from 1 to 64"),
        (("jbos",), "Unknown command: 'jbos'. Did you mean jobs? See `manage.py help`"),
        (("nothing-like-it",), "Unknown command: 'nothing-like-it'. See `manage.py help`"),
    ],
    ids=" ".join,
)
def test_the_line_says_what_would_be_right(arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    ended = start(tmp_path, "manage.py", *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert says in ended.stderr


def test_a_command_that_did_it_says_nothing_on_stderr_unless_asked(tmp_path: Path) -> None:
    assert start(tmp_path, "manage.py", "migrate", "-v0").stderr == ""
    with EmbeddedRedis(tmp_path / "redis"):
        done = start(tmp_path, "manage.py", "tenants", "create", "acme")
        assert (done.returncode, done.stdout, done.stderr) == (0, "created acme\n", "")
        asked = start(tmp_path, "manage.py", "tenants", "set", "acme", "--cap", "3", JOBOPS_LOG_LEVEL="INFO")
        assert "acme" in asked.stderr
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "manage.py", "tenants", "list"],
            cwd=ROOT,
            env={"PATH": "/bin", "JOBOPS_VAR": str(tmp_path)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr == "Refused: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("url", ["redis://u:s3cret@h:1/0", "redis://h:1/0?password=s3cret", "unix://u:s3cret@/r.sock"])
def test_what_is_said_of_a_redis_does_not_tell_its_password(url: str) -> None:
    for line in (advice(url), silence(url)):
        assert "s3cret" not in line
        assert url.partition("://")[0] in line
    assert silence(url).endswith(" does not answer (5 s): look whether it hangs")
