"""What of RQ's own pages a browser gets: their HTML without anything that offers to act, or that our content security
policy would refuse. Its templates are many and change with each release; what is left out here is known by its kind.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from html.parser import HTMLParser

NOTE = '<p class="help">Read-only: RQ’s own pages only show here. To act, use jobops’ pages and commands.</p>'
CONTENT_ID = "content"
"""Django's admin keeps the page proper in the element of this id; around it are its own header and its sign-out."""
CONTROLS = frozenset({"button", "select", "textarea", "label"})
"""Left out with all that is in them."""
Attributes = list[tuple[str, str | None]]


def shown_only(text: str, leads_somewhere: Callable[[str], bool]) -> str:
    """The page without forms, controls, inline scripts and styles, and links that ``leads_somewhere`` does not accept;
    with a line that says it is read-only."""
    page = _Page(leads_somewhere)
    page.feed(text)
    page.close()
    return "".join(page.kept)


class _Page(HTMLParser):
    """Copies what it reads, as it is written, but for what is left out."""

    def __init__(self, leads_somewhere: Callable[[str], bool]) -> None:
        super().__init__(convert_charrefs=False)
        self.leads_somewhere = leads_somewhere
        self.kept: list[str] = []
        self.inside = False
        self.left_out = ""
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        if self.left_out:
            self.depth += tag == self.left_out
            return
        if self._leaves_out(tag, dict(attrs)):
            self.left_out, self.depth = tag, 1
        elif not (self.inside and tag in ("form", "input")):
            self.kept.append(self._start(tag, attrs))
            if dict(attrs).get("id") == CONTENT_ID:
                self.inside = True
                self.kept.append(NOTE)

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        if not self.left_out and not (self.inside and tag == "input"):
            self.kept.append(self._start(tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        if not self.left_out:
            if not (self.inside and tag == "form"):
                self.kept.append(f"</{tag}>")
        elif tag == self.left_out:
            self.depth -= 1
            if not self.depth:
                self.left_out = ""

    def handle_data(self, data: str) -> None:
        self._keep(data)

    def handle_entityref(self, name: str) -> None:
        self._keep(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._keep(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._keep(f"<!{decl}>")

    def _keep(self, text: str) -> None:
        if not self.left_out:
            self.kept.append(text)

    def _leaves_out(self, tag: str, attrs: dict[str, str | None]) -> bool:
        if tag == "style" or (tag == "script" and not attrs.get("src")):
            return True
        if not self.inside:
            return False
        return tag in CONTROLS or (tag == "a" and not self.leads_somewhere(attrs.get("href") or ""))

    def _start(self, tag: str, attrs: Attributes) -> str:
        refused = [name for name, _ in attrs if name.startswith("on") or name == "style"]
        if not refused:
            return self.get_starttag_text() or ""
        kept = [f'{name}="{escape(value or "")}"' for name, value in attrs if name not in refused]
        return f"<{' '.join([tag, *kept])}>"
