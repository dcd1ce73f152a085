"""Where long names may break."""

from __future__ import annotations

import pytest

from jobops.web.breaking import breakable


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("acme", "acme"),
        ("", ""),
        (None, "None"),
        ("shop.jobs.send_invoice", "shop.<wbr>jobs.<wbr>send_<wbr>invoice"),
        ("weiss-und-soehne", "weiss-<wbr>und-<wbr>soehne"),
        ("__init__", "__<wbr>init__"),
        ("<b>.x&y", "&lt;b&gt;.<wbr>x&amp;y"),
        (7, "7"),
    ],
)
def test_a_name_breaks_between_its_parts_and_stays_text(text: object, html: str) -> None:
    assert breakable(text) == html
