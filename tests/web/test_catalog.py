"""The catalog, ``/catalog/``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobops.contracts.registry import temporary_registry
from jobops.engine.keys import average_field
from jobops.web.inline import cell, inline
from tenants.roles import Role
from tests.contracts.catalogs import declare
from tests.web.world import World


@pytest.fixture(autouse=True)
def sound() -> Iterator[None]:
    with temporary_registry():
        declare()
        yield


def body(world: World, url: str = "/catalog/") -> str:
    answer = world.client(Role.STAFF_VIEWER).get(url)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_its_title_is_a_sentence_made_from_the_state(world: World) -> None:
    assert "<h1>1 job type; no promise is broken.</h1>" in body(world)
    declare(name="a.silent", owner=None, timeout=None)
    assert "<h1>2 job types; 2 promises are broken.</h1>" in body(world)


def test_a_broken_promise_is_open_and_says_what_would_be_right(world: World) -> None:
    declare(name="a.silent", owner=None)
    text = body(world)
    broken = text[text.index('id="t-a.silent"') : text.index('id="t-billing.send"')]
    assert "<details open>" in broken
    assert "1 broken" in broken
    assert "owner is missing" in broken
    assert "<details>" in text[text.index('id="t-billing.send"') :]


def test_it_shows_each_contract_and_each_chapter(world: World) -> None:
    text = body(world)
    for part in (
        "Idempotency key or guard",
        "Checkpoint granularity",
        "Drain SLA",
        "HTTP 400-499",
        "Sends an invoice.",
    ):
        assert part in text
    for key in ("fairness", "scheduling", "scaling", "observability", "boundaries", "risks"):
        assert f'<section class="panel" id="{key}"' in text
        assert f'href="#{key}"' in text


def test_it_shows_what_was_measured(world: World) -> None:
    minute = world.engine.scripts.now_ms() // 60_000
    world.engine.redis.hset(world.engine.keys.minute(minute, "type"), mapping={"billing.send|b7": 50})
    world.engine.redis.hset(world.engine.keys.cell(), average_field("billing.send"), 42.1)
    text = body(world)
    assert "42\u00a0ms" in text
    assert "≤ 128\u00a0ms" in text
    assert 'aria-label="p99 up to 128\u00a0ms of a time-out of 30\u00a0s"' in text
    assert "p99 is known of 1" in text


def test_what_a_docstring_says_stays_text(world: World) -> None:
    job_type = declare(name="hostile")
    job_type.func.__doc__ = "Writes <script>alert(1)</script> into ``<b>a file</b>``."
    text = body(world)
    assert "&lt;script&gt;alert(1)&lt;/script&gt; into <code>&lt;b&gt;a file&lt;/b&gt;</code>." in text
    assert "<script>alert" not in text


def test_a_lane_without_a_worker_stands_by_itself(world: World) -> None:
    declare(name="slow.one", lane="slow")
    world.worker()
    text = body(world)
    assert "<code>lane slow</code> no running worker serves it" in text


@pytest.mark.parametrize(
    ("form", "begins", "kind", "name"),
    [
        ("markdown", "# Execution design", "text/markdown; charset=utf-8", "execution-design.md"),
        ("json", "{", "application/json", "execution-design.json"),
    ],
)
def test_the_document_can_be_saved(world: World, form: str, begins: str, kind: str, name: str) -> None:
    answer = world.client(Role.ON_CALL).get(f"/catalog/?format={form}")
    assert answer.content.decode().startswith(begins)
    assert answer["Content-Type"] == kind
    assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
    assert "<h1>" in body(world, "/catalog/?format=pdf")


@pytest.mark.parametrize("url", ["/catalog/", "/catalog/?format=markdown", "/catalog/?format=json"])
def test_tenants_people_get_no_form_of_it(world: World, url: str) -> None:
    answer = world.client(Role.TENANT_ADMIN, world.tenant("acme")).get(url)
    assert answer.status_code == 403
    assert "billing.send" not in answer.content.decode()


def test_with_redis_away_it_says_what_is_missing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from redis.exceptions import ConnectionError as Away

    def away(*_: object, **__: object) -> None:
        raise Away("redis://:s3cret@host")

    client = world.client(Role.ON_CALL)
    monkeypatch.setattr("redis.Redis.execute_command", away)
    answer = client.get("/catalog/")
    assert answer.status_code == 200
    text = answer.content.decode()
    assert "Not measured: Redis cannot be reached." in text
    assert "s3cret" not in text


def test_without_job_types_it_says_how_to_declare_one(world: World) -> None:
    with temporary_registry():
        text = body(world)
    assert "<h1>No job type is registered.</h1>" in text
    assert "JOBOPS_JOB_MODULES" in text


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a `b` c", "a <code>b</code> c"),
        ("<b> `<i>`", "&lt;b&gt; <code>&lt;i&gt;</code>"),
        ("{} of 30 s", "{} of 30\u00a0s"),
        ("one ` alone", "one ` alone"),
    ],
)
def test_sentences_become_html(text: str, html: str) -> None:
    assert inline(text) == html


def test_cells_that_are_not_there_yet_are_quiet() -> None:
    assert cell("") == '<span class="n0">–</span>'
    assert cell("not built") == '<span class="jtag">not built</span>'
