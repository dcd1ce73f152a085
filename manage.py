#!/usr/bin/env python3
"""Django's command line, with one line instead of a traceback when Redis is not there."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.core.management.base import BaseCommand


def main() -> None:
    """Run the command named in the arguments."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobops.settings")
    try:
        from django.core.management import ManagementUtility, get_commands
    except ImportError:
        sys.exit("Django is not installed here: run `make .venv`, then .venv/bin/python manage.py …")
    from redis.exceptions import ConnectionError as RedisConnectionError
    from redis.exceptions import TimeoutError as RedisTimeoutError

    class Commands(ManagementUtility):
        """Answers an unknown command as our commands answer an unknown option: with one line and exit code 2."""

        def fetch_command(self, subcommand: str) -> BaseCommand:
            if subcommand in get_commands():
                return super().fetch_command(subcommand)
            # The settings are read by now, and if that failed, Django says so here.
            with contextlib.redirect_stderr(io.StringIO()) as words, contextlib.suppress(SystemExit):
                return super().fetch_command(subcommand)
            line = words.getvalue().partition("\n")[0].rstrip("?.")
            sys.stderr.write(f"{line}{'?' if 'Did you mean' in line else '.'} See `{self.prog_name} help`\n")
            sys.exit(2)

    try:
        Commands(sys.argv).execute()
    except (RedisConnectionError, RedisTimeoutError) as error:
        from django.conf import settings

        from jobops import embedded

        if settings.DEBUG and "--traceback" in sys.argv:
            raise
        what = embedded.silence if isinstance(error, RedisTimeoutError) else embedded.advice
        sys.exit(what(settings.JOBOPS_REDIS_URL))


if __name__ == "__main__":
    main()
