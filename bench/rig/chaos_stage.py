"""A private installation for the chaos run: a Redis, a SQLite file, tenants, and Django set up on them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobops.embedded import EmbeddedRedis


@contextmanager
def stage(folder: Path, caps: dict[str, int]) -> Iterator[tuple[EmbeddedRedis, dict[str, str]]]:
    """The Redis, which runs, and the environment of the services. Once in a process: Django is set up for good."""
    from tests.chaos.play import environment

    with EmbeddedRedis(folder / "redis") as redis:
        variables = environment(f"sqlite:///{folder}/chaos.sqlite3", redis.url, folder)
        variables |= {"JOBOPS_VAR": str(folder), "JOBOPS_LOG_LEVEL": "WARNING"}
        os.environ.update(variables)
        import django

        django.setup()
        from django.core.management import call_command

        from jobops.runtime import get_engine
        from tenants.services import tenant_create

        call_command("migrate", verbosity=0)
        get_engine().prepare()
        for slug, cap in caps.items():
            tenant_create(slug=slug, by="chaos", cap=cap)
        yield redis, variables
