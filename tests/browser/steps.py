"""What a person does on pages, step by step, in the words of what they see."""

from __future__ import annotations

import re
from dataclasses import dataclass

from playwright.sync_api import Page, expect


@dataclass
class Steps:
    """A page, the address that its site begins with, and who looks at it."""

    page: Page
    base: str
    who: str

    def go(self, path: str) -> None:
        self.page.goto(f"{self.base}{path}")

    def press(self, name: str | re.Pattern[str]) -> None:
        self.page.get_by_role("button", name=name).first.click()

    def follow(self, name: str) -> None:
        self.page.get_by_role("link", name=name, exact=True).click()

    def headed(self, text: str | re.Pattern[str], timeout: float = 10_000) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(text, timeout=timeout)

    def said(self, text: str) -> None:
        expect(self.page.get_by_role("status")).to_contain_text(text)
