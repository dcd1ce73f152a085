"""SE-01, SE-03: whatever a job, an error or a person says stays text, on every page and in every attribute."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.conf import settings

from dlq.models import DeadLetter
from jobops.engine.records import Outcome
from jobops.web.tables import LetterTable, TenantTable
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.world import World

EVIL = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' onfocus='alert(1)",
    "</script><script>alert(1)</script>",
    "{{ secret|safe }}{% csrf_token %}",
    "</textarea></code></title><b>",
)


class Page(HTMLParser):
    """Every tag and attribute a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts: list[str] = []
        self.handlers: list[str] = []
        self.shown: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "script":
            self.scripts.append(values.get("src") or "inline")
        self.handlers += [name for name in values if name.startswith(("on", "hx-on", "style"))]
        self.shown += [value for value in values.values() if value]

    def handle_data(self, data: str) -> None:
        self.shown.append(data)


def assert_harmless(text: str, evil: str | None = None) -> None:
    page = Page(text)
    assert all(re.match(r"/static/[\w./-]+$", source) for source in page.scripts), page.scripts
    assert page.handlers == []
    if evil is not None:
        assert any(evil in shown for shown in page.shown), f"{evil} is not visible"


@pytest.mark.parametrize("evil", EVIL)
def test_hostile_strings_of_jobs_and_people_are_shown_and_never_run(world: World, evil: str) -> None:
    tenant = world.tenant("acme", may_pause=True, paused_by=evil[:150], pause_reason=evil, paused=True)
    Tenant.objects.filter(pk=tenant.pk).update(name=evil)
    world.engine.scripts.resume("acme")
    job = world.enqueue("acme", evil, arguments={evil: evil, "deep": [{evil: evil}]}, key=evil, correlation_id=evil)
    failed = world.claim()
    world.settle(failed, Outcome.failed("poison", evil, evil, evil))
    done = world.enqueue("acme", evil)
    world.settle(world.claim(), Outcome.succeeded(f'"{evil.replace(chr(34), chr(92) + chr(34))}"'.encode()))
    waiting = world.enqueue("acme", evil, lane="interactive")
    world.enqueue("acme", evil)
    world.claim()
    world.worker(busy=evil, name=f"w-{evil}"[:60])
    attempt = {"n": 1, "outcome": evil, "worker": evil, "error": evil, "error_class": evil}
    frame = f'  File "{evil.replace(chr(34), "")}", line 1, in {evil}\n    {evil}'
    trace = f"Traceback (most recent call last):\n{frame}\n{evil}"
    letter = world.letter(
        tenant, job_id=failed.id, job_type=evil, error=evil, error_class=evil, owner=evil, traceback=trace, note=evil,
        payload=json.dumps({"args": [evil], "kwargs": {evil: {evil: evil}}}), history=[attempt], key=evil,
        correlation_id=evil, queue=evil,
    )  # fmt: skip
    letter.runs.create(number=1, job_id=f"{evil}-r1"[:200], by=evil, state="died", ended_at=letter.dead_at, note=evil)
    gone = world.letter(tenant, state="discarded", discard_reason=evil, drained_by=evil, drained_at=letter.dead_at)
    world.letter(tenant, job_id=f"{evil}:1", job_type=evil, error=evil)
    pages = {
        "/": None,
        f"/?find={evil}": evil,
        "/tenants/": evil,
        f"/tenants/?find={evil}": evil,
        "/tenants/acme/": evil,
        f"/jobs/{job}/": evil,
        f"/jobs/{failed.id}/": evil,
        f"/jobs/{done}/": evil,
        f"/jobs/{waiting}/": evil,
        f"/dlq/{letter.pk}/": evil,
        f"/dlq/{gone.pk}/": evil,
        f"/live/dlq/{letter.pk}/": evil,
        "/workers/": None,
        "/live/overview/": None,
        "/live/tenants/acme/": evil,
        f"/live/jobs/{job}/": evil,
        "/live/workers/": None,
        f"/login/?next={evil}": None,
        f"/nothing/{evil}": None,
    }
    own = ("/", f"/dlq/{letter.pk}/", f"/dlq/{gone.pk}/", "/tenants/acme/", f"/jobs/{failed.id}/", f"/jobs/{waiting}/")
    staff, member = world.client(Role.SUPERUSER), world.client(Role.TENANT_ADMIN, tenant)
    for url, visible in pages.items():
        assert_harmless(staff.get(url).content.decode(), visible)
    for url in own:
        assert_harmless(member.get(url).content.decode())


@pytest.mark.parametrize("evil", EVIL)
def test_every_column_escapes_what_it_shows(world: World, evil: str) -> None:
    """SE-03."""
    tenant = world.tenant("acme")
    Tenant.objects.filter(pk=tenant.pk).update(name=evil)
    letter = world.letter(tenant, job_type=evil, error=evil, error_class=evil, owner=evil)
    cells = [cell for row in LetterTable([DeadLetter.objects.get(pk=letter.pk)]).rows for cell in row.cells]
    html = world.client(Role.OPERATOR).get("/tenants/").content.decode()
    assert_harmless("".join(map(str, cells)).replace(evil, ""))
    assert_harmless(html, evil)
    assert {column.name for column in TenantTable([]).columns} >= {"slug", "state"}


def test_hostile_control_characters_are_spelled_out(world: World) -> None:
    """RT-11: a right-to-left override in an error would turn the rest of the line around."""
    tenant = world.tenant("acme")
    letter = world.letter(tenant, error="a\u202eb", job_type="x\u2066y")
    text = world.client(Role.OPERATOR).get("/tenants/acme/").content.decode()
    assert "\u202e" not in text
    assert "a\\u202eb" in text
    assert f"/dlq/{letter.pk}/" in text


def test_no_code_or_template_of_the_pages_marks_anything_safe() -> None:
    """SE-03: HTML is built by format_html or by a template."""
    code = [
        *Path(settings.BASE_DIR, "jobops", "web").rglob("*.py"),
        *Path(settings.BASE_DIR, "templates").rglob("*.html"),
    ]
    assert len(code) > 40
    forbidden = re.compile(r"mark_safe|\|\s*safe\b|autoescape\s+off|SafeString\(|safeseq|allow_tags")
    assert [str(file) for file in code if forbidden.search(file.read_text())] == []
