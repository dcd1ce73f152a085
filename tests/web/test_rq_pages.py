"""RQ's own pages, ``/rq/``: looking changes nothing and runs nothing."""

from __future__ import annotations

import html
import pickle
import re
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern

from jobops.engine.records import Outcome
from jobops.web.rq_pages import LOOKING, rq_urls
from jobops.web.rq_shown import shown_only
from jobops.web.rq_view import ViewedRedis, harmless
from tenants.roles import Role
from tests.web.world import World

SECTIONS = ("", "details/", "finished/", "failed/", "scheduled/", "started/", "deferred/")


@pytest.fixture
def root(world: World) -> Client:
    return world.client(Role.SUPERUSER)


def everything(world: World) -> dict[bytes, Any]:
    """All that Redis holds: each key with its value, and when it expires."""
    redis = world.engine.redis
    read = {
        b"string": redis.get,
        b"hash": redis.hgetall,
        b"list": lambda key: redis.lrange(key, 0, -1),
        b"set": redis.smembers,
        b"zset": lambda key: redis.zrange(key, 0, -1, withscores=True),
        b"stream": redis.xrange,
    }
    return {key: (read[redis.type(key)](key), redis.ttl(key) > 0) for key in sorted(redis.keys("*"))}


def every_page(world: World, root: Client) -> list[str]:
    jobs = [key.decode().removeprefix("rq:job:") for key in world.engine.redis.keys("rq:job:*")]
    workers = [key.decode() for key in world.engine.redis.smembers("rq:workers")]
    urls = ["/rq/", "/rq/schedulers/0/", "/rq/workers/0/", *(f"/rq/workers/0/{key}/" for key in workers)]
    urls += [f"/rq/queues/{index}/{section}" for index in range(4) for section in SECTIONS]
    return urls + [f"/rq/queues/{index}/{job}/" for index in range(2) for job in jobs]


def plant(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A started job whose entry in RQ's registry has expired and whose hash names a callback and a webhook."""
    (tmp_path / "planted_callback.py").write_text("def run(*args):\n    raise SystemExit('it was called')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    job = world.claim()
    redis = world.engine.redis
    redis.hset(
        f"rq:job:{job.id}",
        mapping={
            "failure_callback_name": "planted_callback.run",
            "success_callback_name": "planted_callback.run",
            "stopped_callback_name": "planted_callback.run",
            "webhooks": '[{"url": "http://127.0.0.1:9/", "job_status": "failed"}]',
        },
    )
    redis.zadd(f"rq:wip:{job.queue}", {f"{job.id}:{job.token}": 1.0})
    return job.id


@pytest.mark.filterwarnings("ignore:job.result is deprecated:DeprecationWarning")
def test_opening_every_page_imports_nothing_and_changes_nothing(
    world: World, root: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """I10: the planted callback is neither imported nor called, and not a byte in Redis is another."""
    world.tenant("acme")
    world.tenant("bluefin")
    for _ in range(4):
        world.enqueue("acme")
    world.enqueue("bluefin", delay_ms=60_000)
    world.settle(world.claim(), Outcome.succeeded(b'{"rows": 3}'))
    world.settle(world.claim(), Outcome.failed("poison", "ValueError", "no", "Traceback …"))
    job = plant(world, monkeypatch, tmp_path)
    world.worker(busy=job)
    world.engine.redis.sadd("rq:workers", "rq:worker:of-somebody-gone")
    before, modules = everything(world), set(sys.modules)
    opened = 0
    for url in every_page(world, root):
        answer = root.get(url)
        assert answer.status_code in (200, 404), (url, answer.status_code)
        opened += answer.status_code == 200
    assert opened > 30
    assert "planted_callback" not in sys.modules
    assert everything(world) == before
    assert not {name for name in set(sys.modules) - modules if name.startswith("planted")}


def test_what_would_act_is_refused_to_superusers_too(world: World, root: Client) -> None:
    """SE-04."""
    world.tenant("acme")
    job = world.enqueue("acme")
    before = everything(world)
    acts = ("delete", "requeue", "enqueue", "stop")
    urls = [f"/rq/queues/0/{job}/{act}/" for act in acts]
    urls += [f"/rq/queues/0/{act}/" for act in ("empty", "requeue-all", "failed/clear")]
    urls += ["/rq/queues/confirm-action/0/", "/rq/queues/actions/0/"]
    for url in urls:
        assert root.get(url).status_code == 405, url
        assert root.post(url, {"action": "delete", "job_ids": job}).status_code == 405, url
    assert root.post("/rq/").status_code == 405
    assert everything(world) == before


@pytest.mark.filterwarnings("ignore:job.result is deprecated:DeprecationWarning")
def test_no_page_offers_what_would_be_refused(world: World, root: Client) -> None:
    world.tenant("acme")
    for _ in range(4):
        world.enqueue("acme")
    world.settle(world.claim(), Outcome.succeeded(b'{"rows": 3}'))
    world.settle(world.claim(), Outcome.failed("poison", "ValueError", "no <b>&amp; &lt;", "Traceback <i>…"))
    world.worker(busy=world.claim().id)
    links: set[str] = set()
    for url in every_page(world, root):
        answer = root.get(url)
        if answer.status_code == 404:
            continue
        page = answer.content.decode()
        assert "Read-only: RQ’s own pages only show here." in page, url
        content = page[page.index('id="content"') :]
        for offer in (
            "<form",
            "<button",
            "<select",
            "<input",
            "Requeue",
            "Delete",
            "Empty Queue",
            "as JSON",
            "View Metrics",
        ):
            assert offer not in content, (url, offer)
        assert not re.search(r"<style|<script(?![^>]*src=)|\son\w+=|\sstyle=", page), url
        links |= set(re.findall(r'href="(/rq/[^"]*)"', content))
    assert len(links) > 10
    refused = {link: root.get(html.unescape(link)).status_code for link in links}
    assert {link: status for link, status in refused.items() if status != 200} == {}
    failed = root.get("/rq/queues/0/failed/").content.decode()
    assert re.search(r'href="/rq/queues/0/[0-9a-f]{32}/"', failed)


def test_what_is_shown_stays_escaped() -> None:
    text = "<div id=content><b title='a &quot; b' onclick='x()'>1 &lt; 2 &amp;lt; &#60;</b><br/>"
    text += "<FORM><a href='?p'>n</a></FORM></div>"
    kept = shown_only(text, lambda url: True)
    assert "<b title=\"a &quot; b\">1 &lt; 2 &amp;lt; &#60;</b><br/><a href='?p'>n</a></div>" in kept


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_refusal_says_why(world: World, root: Client, method: str) -> None:
    world.tenant("acme")
    answer = getattr(root, method)("/rq/queues/0/empty/")
    assert answer.status_code == 405
    assert "read-only here" in answer.content.decode()


@pytest.mark.parametrize("role", [None, *(role for role in Role if role is not Role.SUPERUSER)])
def test_nobody_but_superusers_sees_them(world: World, role: Role | None) -> None:
    tenant = world.tenant("acme")
    client = world.client(role, tenant)
    assert {client.get(url).status_code for url in ("/rq/", "/rq/queues/0/", "/rq/workers/0/")} == {403}
    assert Client().get("/rq/").status_code == 302


def test_a_view_that_django_rq_may_add_is_refused_until_it_is_read() -> None:
    names, _ = rq_urls()
    views = {pattern.callback.__name__ for pattern in names if isinstance(pattern, URLPattern)} - {"not_here"}
    assert views > LOOKING
    assert len(views - LOOKING) == 9


def test_the_machine_readable_pages_are_not_mounted(root: Client) -> None:
    assert root.get("/rq/stats.json").status_code == 404
    assert root.get("/rq/metrics").status_code == 404


def test_the_list_of_queues_is_bounded(world: World, root: Client) -> None:
    for index in range(40):
        world.tenant(f"t-{index:02}")
    text = root.get("/rq/").content.decode()
    assert "t-24.bulk" in text
    assert "t-25.bulk" not in text


@pytest.mark.parametrize("query", ["?page=0", "?page=-1", "?page=abc", "?page=99999", "?desc=x", "?page=%00"])
def test_odd_page_numbers_are_not_errors(world: World, root: Client, query: str) -> None:
    """HX-07."""
    world.tenant("acme")
    world.enqueue("acme")
    assert root.get(f"/rq/queues/0/{query}").status_code == 200
    assert root.get("/rq/queues/99999/").status_code == 404


def test_nothing_read_through_the_viewing_connection_is_a_pickle(world: World) -> None:
    """I10."""
    evil = pickle.dumps({"a": 1})
    kept = harmless(
        {
            b"origin": b"acme.bulk",
            b"data": zlib.compress(evil),
            b"result": evil,
            b"meta": b'{"a": 1}',
            b"webhooks": b"[]",
        }
    )
    assert kept == {b"origin": b"acme.bulk", b"data": b"null", b"result": b"null", b"meta": b'{"a": 1}'}


def test_no_write_passes_the_viewing_connection(world: World) -> None:
    viewed = ViewedRedis.from_url(world.engine.redis.connection_pool.connection_kwargs["path"].join(["unix://", ""]))
    world.engine.redis.set("kept", "1")
    viewed.delete("kept")
    viewed.set("new", "1")
    viewed.execute_command("FLUSHALL")
    viewed.eval("redis.call('DEL', KEYS[1])", 1, "kept")
    with viewed.pipeline() as pipe:
        pipe.watch("kept")
        pipe.delete("kept")
        pipe.get("kept")
        assert pipe.execute() == [0, b"1"]
    assert world.engine.redis.keys("*") == [b"kept"] or world.engine.redis.get("kept") == b"1"
    assert world.engine.redis.get("new") is None
