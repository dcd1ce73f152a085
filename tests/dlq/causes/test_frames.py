"""Which frames are our own, and what of them counts."""

from __future__ import annotations

import pytest

from dlq.causes.frames import trace_of

HEAD = "Traceback (most recent call last):\n"


def frame(path: str, function: str, line: int = 1) -> str:
    return f'  File "{path}", line {line}, in {function}\n    x = 1\n'


def tb(*frames: tuple[str, str], error: str = "ValueError: broken", line: int = 1) -> str:
    return HEAD + "".join(frame(path, function, line) for path, function in frames) + error + "\n"


OWN = ("/srv/app/billing/tasks.py", "charge")


def test_lines_machines_and_releases_do_not_count() -> None:
    here = trace_of(tb(("/srv/releases/20260101/billing/tasks.py", "charge"), line=7))
    there = trace_of(tb(("/home/jan/shop/billing/tasks.py", "charge"), line=99))
    assert here == there
    assert here.frames == ("billing/tasks.py charge",)
    assert here.culprit == "charge in billing/tasks.py"


def test_a_release_without_a_folder_of_its_own_is_the_same_file() -> None:
    assert trace_of(tb(("/srv/releases/20260101/tasks.py", "f"))) == trace_of(
        tb(("/srv/releases/20260202/tasks.py", "f"))
    )


@pytest.mark.parametrize("path", [
    "/srv/venv/lib/python3.11/site-packages/requests/api.py",
    "/usr/lib/python3/dist-packages/yaml/__init__.py",
    "/usr/lib/python3.11/json/decoder.py",
    "/root/.pyenv/versions/3.11.7/lib/python3.11/threading.py",
    "<frozen importlib._bootstrap>",
    "<string>",
    "/opt/other/jobops/context/once.py",
    "C:\\venv\\Lib\\site-packages\\requests\\api.py",
])  # fmt: skip
def test_what_others_wrote_does_not_count(path: str) -> None:
    assert trace_of(tb(OWN, (path, "get"))).frames == ("billing/tasks.py charge",)


def test_our_customers_may_have_folders_with_our_names() -> None:
    found = trace_of(tb(("/srv/jobops/billing/tasks.py", "f"), ("/srv/shop/tenants/models.py", "g")))
    assert found.frames == ("billing/tasks.py f", "tenants/models.py g")


def test_a_job_that_is_installed_is_own_code() -> None:
    path = "/srv/venv/lib/python3.11/site-packages/shopjobs/mail.py"
    assert trace_of(tb((path, "send"))).frames == ()
    assert trace_of(tb((path, "send")), "shopjobs").frames == ("shopjobs/mail.py send",)


def test_how_deep_a_recursion_went_does_not_count() -> None:
    deep = tb(*[OWN, ("/srv/app/billing/tree.py", "walk")] * 40)
    assert trace_of(deep) == trace_of(tb(OWN, ("/srv/app/billing/tree.py", "walk")))


def test_another_function_is_another_place() -> None:
    assert trace_of(tb(OWN)) != trace_of(tb((OWN[0], "refund")))


def test_what_an_error_was_raised_from_counts() -> None:
    link = "\nThe above exception was the direct cause of the following exception:\n\n"
    wrapped = [
        trace_of(tb(OWN, error=f"{cause}: 42\nmore of it") + link + tb(OWN, error="app.PayError: failed"))
        for cause in ("TimeoutError", "KeyError")
    ]
    assert wrapped[0].frames == wrapped[1].frames
    assert wrapped[0].raised != wrapped[1].raised


def test_groups_of_exceptions_are_read_too() -> None:
    text = (
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "/srv/app/billing/tasks.py", line 3, in charge\n'
        "  | ExceptionGroup: two (2 sub-exceptions)\n"
        "  +-+---------------- 1 ----------------\n"
        "    | Traceback (most recent call last):\n"
        '    |   File "/srv/app/billing/pay.py", line 5, in pay\n'
        "    | ValueError: a\n"
    )
    assert trace_of(text).frames == ("billing/tasks.py charge", "billing/pay.py pay")


@pytest.mark.parametrize("text", ["", "nothing like it", HEAD, "\n" * 1000, '  File "x'])
def test_what_is_no_traceback_has_no_frames(text: str) -> None:
    assert trace_of(text) == ((), ())
