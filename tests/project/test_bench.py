"""The benches touch nothing but what they made themselves."""

from __future__ import annotations

from pathlib import Path

from tests.project.test_settings import start

PREPARE = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path("bench").resolve()))
import intake
intake.prepare_django(Path(sys.argv[1]))
from django.conf import settings
print(settings.DATABASES["default"]["NAME"])
"""


def database_of_the_bench(home: Path, **variables: str) -> str:
    home.mkdir()
    ended = start(home, "-c", PREPARE, str(home), **variables)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def test_the_intake_bench_keeps_off_the_database_of_the_shell_that_started_it(tmp_path: Path) -> None:
    production = tmp_path / "production.sqlite3"
    home = tmp_path / "home"
    assert database_of_the_bench(home, DATABASE_URL=f"sqlite:///{production}") == f"{home}/bench.sqlite3"
    assert not production.exists()


def test_the_intake_bench_can_be_given_a_database(tmp_path: Path) -> None:
    given = tmp_path / "given.sqlite3"
    assert database_of_the_bench(tmp_path / "home", BENCH_DATABASE_URL=f"sqlite:///{given}") == str(given)
