"""Arguments and texts of a letter for those who may see them masked, and for those who see all."""

from __future__ import annotations

import json

from dlq.models import DeadLetter
from dlq.newest_death import HISTORY_LENGTH, joined
from dlq.payloads import Shown, payload_size
from jobops.contracts.masking import DOTS
from tests.dlq.replays import TYPE

PAYLOAD = json.dumps({"args": [], "kwargs": {"number": 7, "card": "4242-4242"}})


def letter(**fields: object) -> DeadLetter:
    return DeadLetter(job_type=TYPE, payload=PAYLOAD, error="card 4242-4242", traceback="at 4242-4242", **fields)


def test_masked_and_unmasked_are_of_the_same_letter() -> None:
    """SE-06"""
    masked, plain = Shown(letter(history=[{"n": 1, "error": "4242-4242"}])), Shown(letter(), mask=False)
    assert masked.arguments() == {"number": 7, "card": DOTS}
    assert [(each.name, each.masked) for each in masked.argument_list() or []] == [("number", False), ("card", True)]
    assert masked.error == f"card {DOTS}"
    assert (masked.texts.traceback, masked.texts.history) == (f"at {DOTS}", [{"n": 1, "error": DOTS}])
    assert plain.arguments() == {"number": 7, "card": "4242-4242"}
    assert plain.error == "card 4242-4242"
    assert "4242" not in (masked.payload_json() or "4242")
    assert json.loads(plain.payload_json() or "") == {"number": 7, "card": "4242-4242"}


def test_what_cannot_be_read_has_a_size_and_nothing_else() -> None:
    """PX-02"""
    odd = Shown(DeadLetter(payload="", payload_raw=b"\x80\x04"))
    assert (odd.arguments(), odd.argument_list(), odd.payload_json()) == (None, None, None)
    assert payload_size(odd.letter) == 2
    assert payload_size(letter()) == len(PAYLOAD)
    assert payload_size(DeadLetter(payload="")) == 0


def test_a_history_of_very_many_replays_keeps_its_beginning_and_its_end() -> None:
    """PX-05"""
    history = [{"n": 1, "error": "first"}]
    for number in range(1, 300):
        history = joined(history, [{"n": 1}], number)
    assert len(history) == HISTORY_LENGTH
    assert (history[0]["error"], history[1]["replay"], history[-1]["replay"]) == ("first", 1, 299)
    assert joined(history, [{"n": 1}], 299) == history, "told twice"
