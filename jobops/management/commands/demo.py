"""`manage.py demo`: five tenants, real jobs, living traffic, on this machine alone."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from jobops.management.base import OneLineCommand


class Command(OneLineCommand):
    """Runs the demo until it is stopped; exit code 0 then, 1 if it cannot start."""

    help = "Run the demo: embedded Redis, SQLite, web server, two worker slots, scheduler and living traffic."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Port, and where to start from."""
        parser.add_argument(
            "--port", type=port_number, default=8000, help="of the web server, on 127.0.0.1 (default 8000)"
        )
        parser.add_argument("--fresh", action="store_true", help="forget what earlier runs of the demo left")

    def handle(self, *args: Any, port: int, fresh: bool, **options: Any) -> None:
        """Start over as the demo if the environment says otherwise, then run it."""
        if not settings.JOBOPS_DEMO or settings.OWN_SERVICES:
            self._start_over()
        from jobops.demo.stage import run_demo

        run_demo(settings.HOME_DIR, port, fresh=fresh, say=self._say)

    def _start_over(self) -> None:
        """Settings are read once: replace this process by one with the demo's environment."""
        from jobops.demo.stage import environment_of_the_demo

        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable, *sys.argv], environment_of_the_demo(os.environ))  # noqa: S606

    def _say(self, text: str) -> None:
        lines = text if text.startswith("\n") else f"demo: {text}"
        self.stdout.write(lines)
        self.stdout.flush()


def port_number(text: str) -> int:
    """A TCP port as an option's value."""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= 65_535:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 1 to 65535")
