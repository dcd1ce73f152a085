"""The catalog as text, Markdown and JSON: the same design in each, and the same again at each writing."""

from __future__ import annotations

import json
import re

import pytest

from jobops import job
from jobops.contracts.catalog.document import as_document
from jobops.contracts.catalog.facts import Measured, RunTimes
from jobops.contracts.catalog.markdown import as_markdown, escaped
from jobops.contracts.catalog.summary import measured_words, summary
from jobops.contracts.catalog.text import as_text
from jobops.contracts.catalog.words import listed, span
from tests.contracts.catalogs import SOUND, catalog, declare, measured

CHAPTERS = ("Fairness", "Scheduling", "Worker scaling and drain", "Observability", "Boundaries", "Open risks")
EVERYWHERE = (
    "billing.send", "enqueued by code", "Sends an invoice.", "upserts by invoice id", "bulk", "billing",
    "exponential", "HTTP 400-499", "slots × (La/wa + Lb/wb)", "Overlap policy", "Missed-run policy", "not built",
    "outbox relay", "--drain-timeout", "Autoscaling", "over 5%", "operations", "appendfsync", "bench/README.md",
    "a second run, after a lost worker or by a replay, repeats the side effects",
)  # fmt: skip


def test_each_form_holds_each_part_of_the_design() -> None:
    declare(guard=len, idempotent="upserts by invoice id")
    found = catalog(measured({"billing.send": RunTimes(1204, 0.042, 0.128, 900.0)}))
    document = json.dumps(as_document(found), ensure_ascii=False)
    for form in (as_text(found), as_markdown(found), document):
        flat = " ".join(form.replace("\\", "").split())
        assert [each for each in (*CHAPTERS, *EVERYWHERE) if each not in flat] == []
    assert "p99 up to 128 ms" in as_markdown(found)
    assert '"p99": 0.128' in document


def test_the_numbers_of_the_running_system_stand_in_their_chapters() -> None:
    declare(timeout="58s")
    document = as_document(catalog(measured()))
    now = {
        row["what"]: row["measured"] for key in ("fairness", "scheduling", "scaling") for row in document[key]["rows"]
    }
    assert now["Lane bulk"] == "1,204 waiting, 1 running"
    assert now["Bound"] == "2 slots, weights of 1: at most 4 min"
    assert now["Cap"] == "8 tenants, 1 without a cap"
    assert now["Weight"] == "the smallest is 0.5"
    assert now["Delayed jobs and retries"] == "7 delayed"
    assert now["Slots"] == "1 worker, 2 slots, 1 busy"
    assert now["Add slots"] == "43% of slot time used, last 5 min"
    boundaries = {row["boundary"]: row["measured"] for row in document["boundaries"]["rows"]}
    assert boundaries["Transport"] == "Redis 7.0.15"
    assert boundaries["Durability"] == "appendonly yes, appendfsync always and maxmemory-policy noeviction"


def test_each_risk_has_a_consequence_and_somebody_who_answers() -> None:
    declare(guard=len, timeout="2m")
    rows = as_document(catalog(measured()))["risks"]["rows"]
    assert len(rows) == 10
    assert all(row["open_risk"] and row["if_it_is_wrong"] and row["who_answers"] for row in rows)
    assert {row["who_answers"] for row in rows} == {"billing", "operations"}


def test_dead_letters_are_watched_by_owner_and_time() -> None:
    for name, owner, sla in (("b", "team-b", "4h"), ("a", "team-b", "4h"), ("c", "team-a", "1d")):
        declare(name=name, owner=owner, drain_sla=sla)
    rows = as_document(catalog())["observability"]["rows"]
    letters = [(row["signal"], row["threshold"], row["who_answers"]) for row in rows if "Dead" in row["signal"]]
    assert letters == [
        ("Dead letters of c", "not drained within 1 d", "team-a"),
        ("Dead letters of a and b", "not drained within 4 h", "team-b"),
    ]


def tables(markdown: str) -> list[list[str]]:
    """The tables of a document, each as its lines."""
    return [table.splitlines() for table in re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE)]


def test_the_markdown_differs_in_its_measured_columns_only() -> None:
    declare()
    without = as_markdown(catalog())
    run = as_markdown(catalog(measured({"billing.send": RunTimes(99, 0.1, 0.2, 900.0)})))
    assert without == as_markdown(catalog())
    different = 0
    for one, other in zip(tables(without), tables(run), strict=True):
        assert "measured" in one[0] or one == other
        for before, after in zip(one, other, strict=True):
            different += before != after
            assert before.split(" | ")[:-1] == after.split(" | ")[:-1]
    assert different > 8


def test_the_order_of_declaring_changes_nothing() -> None:
    names = ["b.two", "a.one", "c.three"]
    for name in names:
        declare(name=name)
    assert [found.name for found in catalog().jobs] == sorted(names)


def test_what_a_docstring_says_breaks_neither_table_nor_terminal() -> None:
    @job(**SOUND)
    def hostile() -> None: ...

    hostile.job_type.func.__doc__ = "Ends | a cell, <b>bold</b> *stars*\n\twith \x1b[31mred\x07 and `a|b`."
    found = catalog()
    row = next(line for line in as_markdown(found).splitlines() if line.startswith("| `billing.send` |"))
    assert len(re.split(r"(?<!\\)\|", row)) == 9
    assert r"\<b\>bold\</b\> \*stars\*" in row
    assert "\x1b" not in as_text(found)
    assert "\x07" not in as_text(found)
    assert json.loads(json.dumps(as_document(found)))["jobs"][0]["side_effects"].startswith("Ends | a cell")


def test_text_keeps_within_its_width_but_for_what_is_checked() -> None:
    declare(name="x" * 200, owner="a" * 50)
    design = as_text(catalog(measured())).split("What is checked")[0]
    assert [
        line for line in design.splitlines() if len(line) > 110 and set(line) != {"-"} and "x" * 100 not in line
    ] == []


@pytest.mark.parametrize(
    ("count", "sentence"),
    [
        (0, "No job type is registered."),
        (1, "1 job type; no promise is broken."),
        (2, "2 job types; 1 promise is broken."),
    ],
)
def test_the_sentence_at_the_top(count: int, sentence: str) -> None:
    for number in range(count):
        declare(name=f"sample-{number}", **({"owner": None} if number else {}))
    assert summary(catalog()) == sentence


def test_it_says_what_its_measurements_are_worth() -> None:
    assert measured_words(catalog()) == "Nothing was measured: it was not asked for."
    assert measured_words(catalog(measured())) == "Measured at 2026-03-12 03:14:00 UTC."
    half = measured()
    assert measured_words(catalog(Measured(live=half.live, missing="the database gives no answer"))) == (
        "Measured at 2026-03-12 03:14:00 UTC. Not measured: the database gives no answer."
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"), (0.0005, "0.5 ms"), (0.25, "250 ms"), (0.9999, "1 s"), (1.25, "1.2 s"), (9.96, "10 s"),
        (30, "30 s"), (60, "1 min"), (90, "1 min 30 s"), (3600, "1 h"), (3601, "1 h"),
        (5400, "1 h 30 min"), (93_600, "1 d 2 h"),
        (604_800, "7 d"),
    ],
)  # fmt: skip
def test_durations_have_two_units_at_most(seconds: float | None, text: str) -> None:
    assert span(seconds) == text


def test_long_lists_are_cut() -> None:
    assert [listed([]), listed(["a"]), listed(["a", "b", "c"])] == ["", "a", "a, b and c"]
    assert listed(map(str, range(9)), 3) == "0, 1, 2 and 6 more"


def test_code_stays_code_in_markdown() -> None:
    assert escaped("say `jitter=[1]|x` or *not*") == r"say `jitter=[1]\|x` or \*not\*"
