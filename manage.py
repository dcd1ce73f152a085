#!/usr/bin/env python3
"""Django's command line, with one line instead of a traceback when Redis is not there."""

import os
import sys


def main() -> None:
    """Run the command named in the arguments."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobops.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("Django is not installed here: run `make .venv`, then .venv/bin/python manage.py …")
    from redis.exceptions import ConnectionError as RedisConnectionError

    try:
        execute_from_command_line(sys.argv)
    except RedisConnectionError:
        from django.conf import settings

        from jobops import embedded

        if settings.DEBUG and "--traceback" in sys.argv:
            raise
        sys.exit(embedded.advice(settings.JOBOPS_REDIS_URL))


if __name__ == "__main__":
    main()
