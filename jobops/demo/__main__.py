"""`python -m jobops.demo`: the demo's traffic, sent until SIGTERM."""

from __future__ import annotations

import os

import django


def main() -> None:
    """Set Django up first: jobs and their models come after it."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobops.settings")
    django.setup()
    from jobops.demo.traffic import send_until_stopped

    send_until_stopped()


if __name__ == "__main__":
    main()
