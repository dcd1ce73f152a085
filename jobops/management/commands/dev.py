"""`manage.py dev`: what a developer needs at once, on the checkout's own database."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from jobops.management.base import OneLineCommand, whole
from jobops.management.commands.demo import port_number


class Command(OneLineCommand):
    """Runs the stack until it is stopped; exit code 0 then, 1 if it cannot start."""

    help = "Run web server (it reloads changed code), worker, scheduler and, unless JOBOPS_REDIS_URL is set, a Redis."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Port and number of worker slots."""
        parser.add_argument("--port", type=port_number, default=8000, help="of the web server, on 127.0.0.1")
        parser.add_argument("--processes", type=whole(1, 64), default=2, help="worker slots (default 2)")

    def handle(self, *args: Any, port: int, processes: int, **options: Any) -> None:
        """Leave the demo's settings, if a demo runs beside, then run the stack."""
        if settings.JOBOPS_DEMO or not settings.DEBUG:
            sys.stdout.flush()
            os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "JOBOPS_DEMO": "0", "DEBUG": "1"})  # noqa: S606
        from jobops.demo.launch import run_dev

        run_dev(settings.HOME_DIR, port, processes, say=self._say)

    def _say(self, text: str) -> None:
        self.stdout.write(f"dev: {text}")
        self.stdout.flush()
