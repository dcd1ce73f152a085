"""A source that is away, and senders that are killed: the letter stays, or its replay arrives once."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from django.utils import timezone
from pytest_django import Settings
from redis.exceptions import ConnectionError as Away

from dlq.errors import NotReplayable
from dlq.foreign.unwatched import unwatched
from dlq.foreign.watching import Watch
from dlq.models import DeadLetter, ReplayRun
from jobops.doctor.checks import sources as sources_check
from jobops.doctor.site import Site
from jobops.runtime import get_engine
from tests.dlq.foreign.home import Look, failed_letter, replay
from tests.dlq.foreign.plain_rq import PlainRQ

pytestmark = pytest.mark.usefixtures("both")


def test_a_sender_that_was_killed_leaves_it_to_the_watch(plain: PlainRQ, look: Look) -> None:
    letter = failed_letter(plain)
    with patch("dlq.services.push_home", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        replay(letter)
    assert plain.waiting() == []
    assert DeadLetter.objects.get().state == "replaying"

    look()

    assert len(plain.waiting()) == 1
    plain.work(JOBS_MENDED="1")
    look()
    assert DeadLetter.objects.get().state == "resolved"


def test_a_source_that_is_away_is_said_and_the_letter_stays(plain: PlainRQ) -> None:
    letter = failed_letter(plain)
    plain.server.kill()

    with pytest.raises(NotReplayable, match=r"source old .* does not answer") as refusal:
        replay(letter)

    assert "://" not in str(refusal.value).replace("unix://", "")
    letter.refresh_from_db()
    assert (letter.state, letter.replays) == ("open", 0)
    assert not ReplayRun.objects.exists()


def test_a_source_that_goes_away_at_that_moment_gets_it_later(plain: PlainRQ, look: Look) -> None:
    letter = failed_letter(plain)
    with patch("dlq.foreign.scripts.Commands.push", side_effect=Away("gone")):
        replay(letter)
    plain.server.kill()
    look()
    letter.refresh_from_db()
    assert letter.state == "replaying"

    plain.server.start()
    look()

    assert len(plain.waiting()) == 1


def test_a_source_that_the_settings_do_not_name_is_said(plain: PlainRQ, settings: Settings) -> None:
    letter = failed_letter(plain)
    settings.JOBOPS_RQ_SOURCES = {}

    with pytest.raises(NotReplayable, match="source old is not in JOBOPS_RQ_SOURCES"):
        replay(letter)


def test_a_watch_that_does_not_know_a_source_says_so_until_it_does(
    plain: PlainRQ, look: Look, settings: Settings
) -> None:
    replay(failed_letter(plain))
    with patch.object(settings, "JOBOPS_RQ_SOURCES", {}):
        look()
    assert unwatched(ReplayRun.objects.all()) == {"old": 1}
    (finding,) = sources_check.check(Site(get_engine(), grace_s=0.0))
    assert (finding.code, finding.name) == ("source_unknown", "old")
    assert "1 replay runs there, and the scheduler does not know it: name it in JOBOPS_RQ_SOURCES" in finding.text
    look()
    assert unwatched(ReplayRun.objects.all()) == {}
    assert list(sources_check.check(Site(get_engine(), grace_s=0.0))) == []
    plain.work(JOBS_MENDED="1")
    look()
    assert DeadLetter.objects.get().state == "resolved"


def test_one_that_was_not_sent_is_sent_once_its_source_is_known(plain: PlainRQ, look: Look, settings: Settings) -> None:
    letter = failed_letter(plain)
    with patch("dlq.services.push_home", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        replay(letter)
    with patch.object(settings, "JOBOPS_RQ_SOURCES", {}):
        look()
    look()
    assert len(plain.waiting()) == 1


def test_a_watch_lets_a_silent_source_be_for_a_while(plain: PlainRQ) -> None:
    replay(failed_letter(plain))
    plain.server.kill()
    now = [0.0]
    one = Watch(clock=lambda: now[0])
    ReplayRun.objects.update(check_at=timezone.now())
    one.run()
    ReplayRun.objects.update(check_at=timezone.now())
    with patch("dlq.foreign.sources.Source.connect", side_effect=AssertionError("asked again")):
        one.run()
        now[0] += 0.5
        one.run()
    plain.server.start()
    now[0] += 60

    assert one.run() == 1
