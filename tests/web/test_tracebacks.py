"""Tracebacks taken apart: real ones, chained ones, and texts that are none."""

from __future__ import annotations

import time
import traceback
import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


START = 'Traceback (most recent call last):\n  File "/app/a.py", line 1, in f\n'


@pytest.mark.parametrize("digits", [9, 10, 5_000, 60_000])
def test_an_error_that_quotes_a_line_number_of_many_digits_is_read(digits: int) -> None:
    quoted = f'Traceback (most recent call last):\n  File "b.py", line {"1" * digits}, in g\n    x\nKeyError: 1'
    first, *more = parse(f"{START}    g()\nValueError: remote said:\n{quoted}\n")
    assert first.blocks[0].frames[0].path == "/app/a.py"
    assert len(more) == (digits < 10)


@pytest.mark.parametrize(
    "text",
    [
        "    " + "^" * 60_000 + "x", "    " + "^ ~" * 20_000 + "x", " " * 60_000 + "x", "    x\n" * 10_000,
        '  File "b.py", line 1\n' * 3_000, '  File "' + "/" * 60_000 + '", line 1', '  File "' * 8_000,
        '  File "/lib/python3.' + "1" * 60_000 + '/x", line 1', "  [Previous line repeated" * 2_000,
        "  " * 30_000 + "| x",
        ('Traceback (most recent call last):\n  File "b.py", line 1\n' * 1_100), "ExceptionGroup | " * 4_000,
        "".join(f'  File "/site-packages/l{number}/b.py", line 1\n' for number in range(1_500)),
        "  Exception Group Traceback (most recent call last)\n" + "  | " * 16_000,
    ],
    ids=lambda text: repr(text[:24]),
)  # fmt: skip
def test_no_text_takes_long_or_fills_the_page(text: str) -> None:
    """PX-05: 64 KB of anything."""
    began = time.process_time()
    stacks = parse(f"{START}{text}\nE: y\n", [("app",)])
    assert time.process_time() - began < 2
    assert 1 <= len(stacks) <= tracebacks.MOST_STACKS
    for stack in stacks:
        assert len(stack.blocks) <= tracebacks.FIRST + tracebacks.LAST + 1
        for block in stack.blocks:
            assert len(block.frames) <= 2 * tracebacks.TOGETHER
            assert len(block.label) < 200
            assert all(len(frame.source) <= tracebacks.MOST_LINES for frame in block.frames)


def test_of_a_long_chain_the_last_exceptions_are_shown_and_of_many_library_frames_the_outer_ones() -> None:
    chain = "".join(
        f'{tracebacks._STARTS[0]}:\n  File "a.py", line {number}, in f\nE: {number}\n' for number in range(99)
    )
    stacks = parse(chain)
    assert stacks[0].link == "The last 20 of 99 exceptions:"
    assert (len(stacks), stacks[-1].said) == (20, "E: 98")
    frames = "".join(f'  File "/site-packages/six.py", line {number}\n' for number in range(1, 101))
    (stack,) = parse(f"{START}{frames}E: y")
    assert stack.blocks[1].label == "100 frames of six; the first and the last 25 of them"
    assert [frame.line for frame in stack.blocks[1].frames] == [*range(1, 26), *range(76, 101)]


@given(
    st.lists(
        st.sampled_from(['  File "a.py", line 1, in f', "\n", "    x", "^", "E: y", START, "\u2028", "\x0c", "  | "])
    )
)
def test_nothing_raises(pieces: list[str]) -> None:
    parse("".join(pieces))


def test_what_cannot_be_taken_apart_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracebacks, "_stack", lambda *given: 1 / 0)
    assert parse(chained()) == []
