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
