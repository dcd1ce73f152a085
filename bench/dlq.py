"""Server time of the dead-letter pages at 1,000,000 letters in 2,000 causes of 1,000 tenants, on SQLite or in the
database BENCH_DATABASE_URL, which is used as it is if it holds so many letters already.

Each row is the median of one page's answers through Django's test client, middleware and templates included, and its
share of the budget of 150 ms; for a draft of 100,000 letters with its preview, of 1 s.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rig.report import Row, arguments, show

if TYPE_CHECKING:
    from django.test import Client

BUDGET_MS, PREVIEW_MS = 150.0, 1000.0
ALERTS_OPEN, ALERTS_OVER = 500, 10_000
OWN, LARGEST = "tenant-7", "tenant-0"


class Page(NamedTuple):
    """What is measured. ``whose``: the staff's, or a tenant admin's by slug."""

    name: str
    address: str
    whose: str = ""


def by_cause() -> Iterator[Page]:
    """The list of causes and a cause's page."""
    from dlq.models import DeadLetterGroup

    largest = DeadLetterGroup.objects.order_by("-open")[0].pk
    left = DeadLetterGroup.objects.filter(due_at__isnull=False)
    usual = left.order_by("-open")[left.count() // 10].pk
    for name, query in (
        ("causes", ""), ("most open first", "sort=-open"), ("most tenants first", "sort=-tenants"),
        ("last seen first", "sort=-last"), ("by owner", "sort=owner"), ("mine", "assignee=me"),
        ("my teams'", "owner=mine"), ("unassigned", "assignee=none"), ("overdue", "overdue=1"),
        ("state", "status=acknowledged"), ("drained", "status=drained"), ("all states", "status=all"),
        ("a tenant's", f"tenant={OWN}"), ("the largest tenant's", f"tenant={LARGEST}"),
        ("job type", "job=shop.jobs.job_7"), ("error class", "error=Error11"), ("severity", "severity=high"),
        ("my teams', overdue, a tenant's", f"owner=mine&overdue=1&tenant={OWN}"),
        ("search: a word of many", "q=timeout"), ("search: one argument", "q=00058112"),
        ("search: no match", "q=nothing-has-this"),
    ):  # fmt: skip
        yield Page(f"causes: {name}" if query else name, f"/dlq/?{query}" if query else "/dlq/")
    yield Page("causes: next page", ">/dlq/")
    yield Page("causes: last page", ">>/dlq/")
    yield Page("causes: what is polled", "/live/dlq/")
    yield Page("a cause", f"/dlq/groups/{usual}/")
    yield Page("the largest cause", f"/dlq/groups/{largest}/")
    yield Page("the largest cause: what is polled", f"/live/dlq/groups/{largest}/")
    yield Page("the largest cause, of one tenant", f"/dlq/groups/{largest}/?tenant={OWN}")


def one_by_one() -> Iterator[Page]:
    """The list of letters and a letter's page."""
    from dlq.models import DeadLetter

    letter = DeadLetter.objects.filter(state="open").order_by("-due_at")[0]
    largest = DeadLetter.objects.filter(group=1, state="open").order_by("due_at")[0]
    for name, query in (
        ("letters", ""), ("newest first", "sort=newest"), ("resolved", "status=resolved&sort=newest"),
        ("all states", "status=all"), ("overdue", "overdue=1"), ("a tenant's", f"tenant={OWN}"),
        ("the largest tenant's", f"tenant={LARGEST}"), ("job type", "job=shop.jobs.job_7"), ("owner", "owner=team-3"),
        ("my teams'", "owner=mine"), ("mine", "assignee=me"), ("unassigned", "assignee=none"),
        ("severity", "severity=high"), ("reason", "reason=poison"), ("error class", "error=shop.errors.Error11"),
        ("a cause's", "group=200"), ("the largest cause's", "group=1"), ("older than", "older_than=2d"),
        ("tenant, owner and reason", f"tenant={OWN}&owner=team-3&reason=exhausted"),
        ("tenant and cause", f"tenant={OWN}&group=1"), ("mine and overdue", "assignee=me&overdue=1"),
        ("search: a word of many", "q=timeout"), ("search: one argument", f"q={letter.pk:08d}"),
        ("search: no match", "q=nothing-has-this"), ("search within a tenant", f"tenant={OWN}&q=timeout"),
    ):  # fmt: skip
        yield Page(f"letters: {name}" if query else name, f"/dlq/?by=one&{query}" if query else "/dlq/?by=one")
    yield Page("letters: next page", ">/dlq/?by=one")
    yield Page("letters: last page", ">>/dlq/?by=one")
    yield Page("letters: what is polled", "/live/dlq/?by=one")
    yield Page("a letter", f"/dlq/{letter.pk}/")
    yield Page("the first of the largest cause", f"/dlq/{largest.pk}/")


def others() -> Iterator[Page]:
    """The other pages that tell of letters, and what a tenant's own people see."""
    yield Page("overview", "/")
    yield Page("overview: what is polled", "/live/overview/")
    yield Page("alerts", "/alerts/")
    yield Page("replays", "/dlq/replays/")
    for name, query in (("7 days", ""), ("30 days", "?period=30d"), ("30 days of a team", "?period=30d&team=team-3")):
        yield Page(f"report: {name}", f"/dlq/report/{query}")
    for slug in (OWN, LARGEST):
        for name, address in (
            ("causes", "/dlq/"), ("causes: search", "/dlq/?q=timeout"), ("letters", "/dlq/?by=one"),
            ("overview", "/"), ("a cause", "/dlq/groups/1/"),
        ):  # fmt: skip
            yield Page(f"admin of {slug}: {name}", address, slug)
        yield Page(f"{slug}'s page", f"/tenants/{slug}/")


def following(client: Client, address: str, name: str = "next") -> str:
    """The address of the page after this one."""
    import re
    from html import unescape

    found = re.search(rf'rel="{name}" href="([^"]+)"', client.get(address).content.decode())
    assert found is not None, address
    return "/dlq/" + unescape(found[1])


def address_of(page: Page, client: Client) -> str:
    """Where it is: ``>`` the page after, ``>>`` the last one."""
    if page.address.startswith(">>"):
        return last(page.address[2:])
    return following(client, page.address[1:]) if page.address.startswith(">") else page.address


def last(address: str) -> str:
    """The last page that there is: before the end of time, as its cursor says."""
    from urllib.parse import urlencode

    return f"{address}{'&' if '?' in address else '?'}{urlencode({'before': '9998-12-01T00:00:00+00:00~1'})}"


def median_ms(ask: Callable[[], object], rounds: int) -> float:
    """The middle of so many answers, after two that warm up."""
    times = []
    for _ in range(rounds + 2):
        began = time.perf_counter()
        ask()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times[2:])


def measured(page: Page, client: Client, rounds: int, budget: float = BUDGET_MS) -> Row:
    """A row with the share of the budget that this page takes. The overview's rows are read anew for each answer, as
    polls do that come seconds apart; what is kept for longer is kept."""
    from jobops.web.selectors import snapshot

    snapshot.KEEP_S = 0.0
    address = address_of(page, client)

    def ask() -> None:
        answer = client.get(address)
        assert answer.status_code == 200, (address, answer.status_code)

    value = median_ms(ask, rounds)
    return Row(page.name, value, "ms", value / budget)


def previews(client: Client, rounds: int) -> Iterator[Row]:
    """A draft of the largest cause's letters, fixed and shown; then shown once more, and its page while it runs."""
    from dlq.models import BulkAction

    def draft() -> None:
        answer = client.post("/dlq/groups/act/", {"do": "replay", "ids": ["1"], "query": ""}, follow=True)
        assert answer.status_code == 200
        assert answer.redirect_chain

    value = median_ms(draft, rounds)
    bulk = BulkAction.objects.latest("pk")
    yield Row(f"preview of {bulk.matched:,}: fixed and shown", value, "ms", value / PREVIEW_MS)
    again = Page(f"preview of {bulk.matched:,}: shown again", f"/dlq/replays/{bulk.pk}/")
    yield measured(again, client, rounds, PREVIEW_MS)
    BulkAction.objects.filter(pk=bulk.pk).update(state="running")
    yield measured(Page(f"replay of {bulk.matched:,}: its page", f"/dlq/replays/{bulk.pk}/"), client, rounds)
    BulkAction.objects.filter(kind="replay").delete()


def fill(letters: int, tenants: int, groups: int) -> None:
    """Make the data unless they are there."""
    import rig.causes
    import rig.letters
    import rig.readers

    from dlq.models import DeadLetter

    rig.causes.register(groups)
    if DeadLetter.objects.order_by("-pk").values_list("pk", flat=True).first() == letters:
        return
    rig.letters.fill(letters, tenants, groups)
    rig.readers.alerts(ALERTS_OPEN, ALERTS_OVER)


def main() -> None:
    args = arguments(
        __doc__ or "",
        letters=(1_000_000, "letters"),
        causes=(2_000, "causes"),
        tenants=(1_000, "tenants"),
        rounds=(7, "answers per page, the median counts"),
        only=("", "measure only what has this in its name"),
    )
    from intake import prepare_django

    from jobops.embedded import EmbeddedRedis

    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        os.environ["JOBOPS_REDIS_URL"] = server.url
        prepare_django(Path(directory))
        from django.db import connection
        from rig.readers import reader

        fill(args.letters, args.tenants, args.causes)
        clients = {slug: reader(slug) for slug in ("", OWN, LARGEST)}
        found = [page for page in (*by_cause(), *one_by_one(), *others()) if args.only in page.name]
        rows = [measured(page, clients[page.whose], args.rounds) for page in found]
        rows += previews(clients[""], args.rounds) if args.only in "preview" else ()
        name = f"{args.letters:,} letters, {args.causes:,} causes, {args.tenants:,} tenants, {connection.vendor}"
        rows.insert(0, Row(f"{name}; × the budget of", BUDGET_MS, "ms"))
        show(rows, args.json, str(server_version(server.url)))


def server_version(url: str) -> object:
    """The Redis that the overview read."""
    from redis import Redis

    return Redis.from_url(url).info("server")["redis_version"]


if __name__ == "__main__":
    main()
