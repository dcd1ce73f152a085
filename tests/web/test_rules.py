"""Rules that hold for all templates, styles and answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from tenants.roles import Role
from tests.web.world import World

ROOT = Path(settings.BASE_DIR)
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
ICONS = set(re.findall(r'<symbol id="i-([\w-]+)"', (ROOT / "static" / "icons.svg").read_text()))


def test_templates_are_small() -> None:
    partials = {"live.html", "row.html", "fragment.html"}
    for file in TEMPLATES:
        is_page = "{% extends" in file.read_text() or file.name == "base.html"
        limit = 80 if is_page and file.name not in partials else 40
        assert len(file.read_text().splitlines()) < limit, file


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_template_has_inline_style_or_script(file: Path) -> None:
    """The content security policy would refuse them, and the page would be half there."""
    text = file.read_text()
    assert not re.search(r"\sstyle\s*=|<style|\son\w+\s*=|hx-on|javascript:", text)
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)
    assert not re.search(r"https?://", text.replace("http://www.w3.org/2000/svg", ""))


def test_every_icon_that_is_named_is_in_the_sprite_and_every_one_there_is_used() -> None:
    code = "".join(file.read_text() for file in [*TEMPLATES, *(ROOT / "jobops" / "web").rglob("*.py")])
    named = set(re.findall(r'{% icon "([\w-]+)"', code)) | set(re.findall(r'Look\("[^"]*", "([\w-]+)"', code))
    named |= set(re.findall(r'Look\([^"]+, "([\w-]+)"', code))
    assert named == ICONS


@pytest.mark.parametrize("url", ["/", "/tenants/", "/login/", "/nothing/", "/healthz"])
def test_every_answer_has_a_strict_policy(world: World, url: str) -> None:
    answer = world.client(Role.OPERATOR).get(url)
    policy = answer["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert answer["X-Frame-Options"] == "DENY"


def test_everything_vendored_has_its_licence_beside_it() -> None:
    folders = [folder for folder in (ROOT / "static" / "vendor").iterdir() if folder.is_dir()]
    assert len(folders) >= 5
    assert [folder.name for folder in folders if not (folder / "LICENSE.txt").is_file()] == []


@pytest.mark.parametrize("name", ["jobops.css", "theme.js", "live.js", "icons.svg", "vendor/htmx/htmx.min.js"])
def test_static_files_are_served_without_a_session(db: None, name: str) -> None:
    answer = Client().get(f"/static/{name}")
    assert answer.status_code == 200
    assert b"".join(answer.streaming_content)
    answer.close()


def test_the_system_preference_has_the_same_dark_colours_as_the_choice() -> None:
    css = (ROOT / "static" / "jobops.css").read_text()
    chosen = css[css.index('[data-bs-theme="dark"] {') :].partition("}")[0].partition("{")[2]
    preferred = css[css.index(":root:not([data-bs-theme]) {") :].partition("}")[0].partition("{")[2]
    assert chosen.split() == preferred.split()
