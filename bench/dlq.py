"""Server time of the dead-letter pages at 100,000 letters of 500 tenants, on SQLite or in BENCH_DATABASE_URL.

Each row is the median of one page's answers through Django's test client, middleware and templates included, and its
share of the budget of 150 ms. Redis is not there: these pages do without it.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rig.report import Row, arguments, show

if TYPE_CHECKING:
    from django.test import Client

BUDGET_MS = 150.0


def pages(client: Client) -> Iterator[tuple[str, str]]:
    """Name and address of everything that is measured."""
    from dlq.models import DeadLetter

    letter = DeadLetter.objects.filter(state="open").order_by("-due_at")[0]
    yield "list", "/dlq/"
    yield "next page", following(client, "/dlq/")
    yield "list, newest first", "/dlq/?sort=newest"
    yield "filter: resolved", "/dlq/?status=resolved&sort=newest"
    yield "filter: all states", "/dlq/?status=all"
    yield "filter: overdue", "/dlq/?overdue=1"
    yield "filter: tenant", "/dlq/?tenant=tenant-7"
    yield "filter: job type", "/dlq/?job=shop.jobs.job_7"
    yield "filter: owner", "/dlq/?owner=team-3"
    yield "filter: reason", "/dlq/?reason=poison"
    yield "filter: error class", "/dlq/?error=shop.errors.Error11"
    yield "filter: older than", "/dlq/?older_than=2d"
    yield "filter: tenant, owner and reason", "/dlq/?tenant=tenant-7&owner=team-3&reason=exhausted"
    yield "search: a word of many", "/dlq/?q=timeout"
    yield "search: one argument", f"/dlq/?q={letter.pk:08d}"
    yield "search: no match", "/dlq/?q=nothing-has-this"
    yield "search within a tenant", "/dlq/?tenant=tenant-7&q=timeout"
    yield "what the list polls", "/live/dlq/"
    yield "one letter", f"/dlq/{letter.pk}/"


def following(client: Client, address: str) -> str:
    """The address of the page after this one."""
    import re
    from html import unescape

    found = re.search(r'rel="next" href="([^"]+)"', client.get(address).content.decode())
    assert found is not None
    return "/dlq/" + unescape(found[1])


def median_ms(client: Client, address: str, rounds: int) -> float:
    """The middle of so many answers, after two that warm up."""
    times = []
    for turn in range(rounds + 2):
        began = time.perf_counter()
        answer = client.get(address)
        times.append((time.perf_counter() - began) * 1000)
        assert answer.status_code == 200, (address, answer.status_code)
        if turn == 1:
            times.clear()
    return statistics.median(times)


def main() -> None:
    args = arguments(
        __doc__ or "",
        letters=(100_000, "letters"),
        tenants=(500, "tenants"),
        rounds=(15, "answers per page, the median counts"),
    )
    with tempfile.TemporaryDirectory() as directory:
        import rig.letters
        from intake import prepare_django

        prepare_django(Path(directory))
        from django.db import connection

        rig.letters.fill(args.letters, args.tenants)
        staff, member = rig.letters.reader(), rig.letters.reader("tenant-7")
        found = list(pages(staff))
        rows = [measured(name, staff, address, args.rounds) for name, address in found]
        rows += [measured(f"a tenant's own: {name}", member, at, args.rounds) for name, at in found if name == "list"]
        name = f"{args.letters:,} letters, {args.tenants:,} tenants, {connection.vendor}; × the budget of 150 ms"
        show([Row(name, BUDGET_MS, "ms"), *rows], args.json, "none")


def measured(name: str, client: Client, address: str, rounds: int) -> Row:
    """A row with the share of the budget that this page takes."""
    value = median_ms(client, address, rounds)
    return Row(name, value, "ms", value / BUDGET_MS)


if __name__ == "__main__":
    main()
