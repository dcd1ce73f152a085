"""Tracebacks taken apart: real ones, chained ones, and texts that are none."""

from __future__ import annotations

import traceback
import urllib.request

import pytest

from jobops.web import tracebacks
from jobops.web.tracebacks import library_of, parse, short


def chained() -> str:
    """A real traceback with two causes and frames of the standard library."""
    try:
        try:
            {}["missing"]
        except KeyError as error:
            raise ValueError("two\n    lines") from error
    except ValueError:
        try:
            urllib.request.urlopen("nonsense://")
        except OSError:
            return traceback.format_exc()
    raise AssertionError


def test_a_chain_of_exceptions_is_told_in_order_and_each_says_how_it_follows() -> None:
    first, second, third = parse(chained())
    assert (first.link, first.said) == ("", "KeyError: 'missing'")
    assert (second.link, second.said) == ("That was the direct cause of:", "ValueError: two\n    lines")
    assert third.link == "While that was handled:"
    assert "unknown url type" in third.said


def test_our_own_frames_stand_alone_and_those_of_libraries_in_one_block() -> None:
    last = parse(chained())[-1]
    own, library = last.blocks[0], last.blocks[-1]
    assert own.own
    assert own.frames[0].function == "chained"
    assert own.frames[0].source == ('urllib.request.urlopen("nonsense://")',)
    assert not own.raised
    assert not library.own
    assert library.label.endswith("frames of the standard library")
    assert all(frame.path.startswith("urllib/") for frame in library.frames)


def test_the_place_where_it_was_raised_is_marked() -> None:
    assert parse(chained())[0].blocks[-1].raised


@pytest.mark.parametrize(
    ("path", "library", "shown"),
    [
        ("/srv/app/billing/capture.py", "", "billing/capture.py"),
        ("/srv/app/.venv/lib/python3.11/site-packages/requests/api.py", "requests", "requests/api.py"),
        ("/srv/app/.venv/lib/python3.11/site-packages/billing/capture.py", "", "billing/capture.py"),
        ("/srv/app/.venv/lib/python3.11/site-packages/six.py", "six", "six.py"),
        ("/usr/lib/python3.11/json/decoder.py", "the standard library", "json/decoder.py"),
        ("<frozen importlib._bootstrap>", "the standard library", "<frozen importlib._bootstrap>"),
        ("<string>", "other code", "<string>"),
        ("/work/jobops/contracts/runner.py", "jobops", "jobops/contracts/runner.py"),
        ("/srv/jobops/billing/capture.py", "", "billing/capture.py"),
        ("/work/jobops/demo/jobs.py", "", "jobops/demo/jobs.py"),
        ("C:\\app\\billing\\capture.py", "", "billing/capture.py"),
        ("elsewhere.py", "", "elsewhere.py"),
    ],
)
def test_whose_code_a_file_is(path: str, library: str, shown: str) -> None:
    own = [("billing",), ("jobops", "demo")]
    assert library_of(path, own) == library
    assert short(path, own) == shown


def test_repeated_frames_and_exception_groups_are_read() -> None:
    def endless(n: int) -> None:
        endless(n + 1)

    try:
        endless(0)
    except RecursionError:
        (stack,) = parse(traceback.format_exc())
    assert "Previous line repeated" in "".join(frame.note for block in stack.blocks for frame in block.frames)
    try:
        raise ExceptionGroup("many", [ValueError("a")])
    except ExceptionGroup:
        (group,) = parse(traceback.format_exc())
    assert group.blocks[-1].frames[-1].function == "test_repeated_frames_and_exception_groups_are_read"
    assert "many" in group.said


@pytest.mark.parametrize("text", ["", "no traceback at all", "Traceback: x", "\n" * 1000, '  File "x", line', "�\x00"])
def test_what_is_no_traceback_has_no_frames(text: str) -> None:
    assert parse(text) == []


def test_a_text_of_the_longest_kind_is_read_at_once() -> None:
    frame = '  File "/srv/app/billing/capture.py", line 1, in f\n    x\n'
    (stack,) = parse("Traceback (most recent call last):\n" + frame * 1_200 + "ValueError: x\n")
    assert len(stack.blocks) == tracebacks.FIRST + tracebacks.LAST + 1
    assert stack.blocks[tracebacks.FIRST].label == "1,175 frames in between"
    assert stack.blocks[-1].raised
    assert tracebacks.parse("^" * 65_536) == []
