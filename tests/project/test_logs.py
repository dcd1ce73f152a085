"""What the processes' logs must not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_settings import start

FAILING = """
import logging, django, structlog
django.setup()

def pay(card):
    password = "-".join(["hunter", "two"])
    raise ValueError("refused")

for log in (logging.getLogger("shop"), structlog.get_logger("shop")):
    try:
        pay("".join(["4242", "4242"]))
    except ValueError:
        log.exception("pay failed")
"""


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_logged_traceback_tells_no_local_variables(style: str, tmp_path: Path) -> None:
    ended = start(tmp_path, "-c", FAILING, DJANGO_SETTINGS_MODULE="jobops.settings", JOBOPS_LOG_FORMAT=style)
    assert ended.returncode == 0
    assert ended.stderr.count("Traceback (most recent call last)") == 2, "the traceback itself is there"
    assert ended.stderr.count("ValueError: refused") == 2
    for secret in ("42424242", "hunter-two"):
        assert secret not in ended.stderr


FOREIGN_HOST = """
import django
django.setup()
from django.test import Client
print(Client(headers={"host": "evil.example.com"}).get("/healthz").status_code)
"""


def test_a_request_for_a_foreign_host_is_one_line_of_warning(tmp_path: Path) -> None:
    ended = start(tmp_path, "-c", FOREIGN_HOST, DJANGO_SETTINGS_MODULE="jobops.settings")
    assert ended.stdout == "400\n"
    assert ended.stderr.count("\n") == 1
    assert "[warning  ]" in ended.stderr
    assert "evil.example.com" in ended.stderr
    ended = start(tmp_path, "-c", FOREIGN_HOST, DJANGO_SETTINGS_MODULE="jobops.settings", JOBOPS_LOG_LEVEL="ERROR")
    assert ended.stderr == ""
