"""Arguments and texts of a letter for those who may see them masked, and for those who see all."""

from __future__ import annotations

import json

from dlq.letters import letter_of
from dlq.models import DeadLetter
from dlq.newest_death import HISTORY_LENGTH, joined
from dlq.payloads import Shown, payload_size
from dlq.searchable import search_text
from jobops.contracts.secret_values import DOTS, UNREADABLE
from jobops.engine.records import Death
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


def test_where_the_arguments_cannot_be_read_no_text_is_shown_but_to_who_may_see_all() -> None:
    """SE-06, PX-02: nobody knows what in a text is secret; the class of the error and our words are none of it."""
    texts = {"error": "card 4242-4242", "traceback": "at 4242-4242", "history": [{"n": 1, "error": "4242-4242"}]}
    for payload in ("", "{", '{"args": 1}'):
        masked = Shown(DeadLetter(job_type=TYPE, payload=payload, payload_raw=b"\x80", **texts))
        assert (masked.error, masked.texts.traceback) == (UNREADABLE, UNREADABLE)
        assert masked.texts.history == [{"n": 1, "error": UNREADABLE}]
        assert "4242" not in search_text(masked.letter)
        assert "hidden" not in search_text(masked.letter)
        assert Shown(masked.letter, mask=False).error == "card 4242-4242"
    empty = Shown(DeadLetter(job_type=TYPE, payload=""))
    assert (empty.error, empty.texts.traceback) == ("", "")
    gone = letter_of(Death("j:1", "j", 1, 0, {}))
    assert Shown(gone).error == gone.error != ""
    assert "gone from redis" in search_text(gone)


def test_a_secret_is_hidden_in_the_other_arguments_and_in_the_search_text() -> None:
    """SE-06"""
    payload = json.dumps({"args": [], "kwargs": {"number": "for 4242-4242", "card": "4242-4242"}})
    repeated = DeadLetter(job_type=TYPE, payload=payload, error="refused")
    assert Shown(repeated).arguments() == {"number": f"for {DOTS}", "card": DOTS}
    assert "4242" not in (Shown(repeated).payload_json() or "4242")
    assert "4242" not in search_text(repeated)
    assert Shown(repeated, mask=False).arguments() == {"number": "for 4242-4242", "card": "4242-4242"}


def test_a_history_of_very_many_replays_keeps_its_beginning_and_its_end() -> None:
    """PX-05"""
    history = [{"n": 1, "error": "first"}]
    for number in range(1, 300):
        history = joined(history, [{"n": 1}], number)
    assert len(history) == HISTORY_LENGTH
    assert (history[0]["error"], history[1]["replay"], history[-1]["replay"]) == ("first", 1, 299)
    assert joined(history, [{"n": 1}], 299) == history, "told twice"
