"""``manage.py dlq assign``, ``rules`` and ``teams`` as scripts call them: exit codes, one line, keys of the JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.core.management import call_command
from django.core.management.base import CommandError

from dlq.models import DeadLetter, RuleSet
from dlq.owners.assigning import letter_take
from tenants.models import Team, Tenant
from tests.dlq.owners.conftest import die, group_of, owners

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("teams")]


def run(*args: object) -> str:
    out = io.StringIO()
    call_command(*map(str, args), stdout=out, stderr=out)
    return out.getvalue()


def as_json(*args: object) -> Any:
    return json.loads(run(*args, "--json"))


def refused(*args: object) -> tuple[int, str]:
    with pytest.raises(CommandError) as refusal:
        run(*args)
    return refusal.value.returncode, str(refusal.value)


def test_letters_are_assigned_by_name_or_by_filter(acme: Tenant, ada: User) -> None:
    first, second = die(acme), die(acme, 3, job_type="mail.send")
    assert run("dlq", "assign", first[0].pk, "--to", "imports", "--assignee", "ada") == "1 assigned\n"
    assert DeadLetter.objects.get(pk=first[0].pk).assignee == ada
    report = as_json("dlq", "assign", "--job", "mail.send", "--to", "imports")
    assert report == {"matched": 3, "done": 3, "skipped": 0, "skipped_for": {}, "groups": 0}
    assert set(owners([*first, *second])) == {"imports"}
    assert run("dlq", "assign", "--owner", "imports", "--give-back") == "4 assigned\n"
    assert owners([*first, *second]) == ["payments", "mail", "mail", "mail"]
    skipped = run("dlq", "assign", "--job", "mail.send", "--give-back")
    assert skipped.startswith("0 assigned, 3 skipped: nobody took it or handed it on")
    assert run("dlq", "assign", "--job", "nothing", "--to", "mail") == "no dead letter matches\n"


def test_a_cause_is_assigned_as_a_whole(acme: Tenant, ada: User) -> None:
    letters = die(acme, 3)
    group_id = group_of(letters[0]).pk
    told = run("dlq", "assign", "--group", group_id, "--assignee", "ada")
    assert told == "1 causes assigned, with 3 letters so far\n"
    assert die(acme)[0].assignee == ada
    run("dlq", "assign", "--group", group_id, "--assignee", "none")
    assert group_of(letters[0]).assignee is None
    run("dlq", "assign", "--group", group_id, "--give-back")
    assert not group_of(letters[0]).by_hand


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ([], 2, "give either --to or --assignee (or both), or --give-back"),
        (["1", "--to", "mail", "--give-back"], 2, "give either --to or --assignee"),
        (["--to", "mail"], 2, "which ones?"),
        (["1", "--job", "x", "--to", "mail"], 2, "which ones?"),
        (["99", "--to", "mail"], 1, "dead letter '99'"),
        (["--job", "billing.send", "--to", "zzz"], 1, "--to: no team is called 'zzz'"),
        (["--job", "billing.send", "--assignee", "zzz"], 1, "--assignee: there is no account 'zzz'"),
        (["--group", "99", "--to", "mail"], 1, "--group: there is no cause 99"),
    ],
)
def test_what_cannot_be_assigned_is_one_line(acme: Tenant, args: list[str], code: int, said: str) -> None:
    die(acme)
    refusal = refused("dlq", "assign", *args)
    assert refusal[0] == code
    assert said in refusal[1]
    assert "\n" not in refusal[1]
    assert not DeadLetter.objects.filter(by_hand=True).exists()


def test_rules_go_out_and_come_in_as_a_file(acme: Tenant, tmp_path: Path) -> None:
    letters = die(acme, 2)
    file, copy = tmp_path / "rules.txt", tmp_path / "copy.txt"
    file.write_text("# ours\n* -> imports sla=2h\n")
    assert "2 from payments" in run("rules", "preview", file)
    assert as_json("rules", "preview", file)["lines"] == [
        {"line": 2, "condition": "*", "team": "imports", "letters": 2, "takes": {"payments": 2}, "held": 0}
    ]
    told = as_json("rules", "import", file, "--note", "ours")
    assert (told["new"], told["changed"], told["going_on"]) == (True, 2, False)
    assert owners(letters) == ["imports"] * 2
    run("rules", "export", "--output", copy)
    assert copy.read_text() == file.read_text() == run("rules", "export")
    assert "says the same already" in run("rules", "import", copy)
    assert [row["note"] for row in as_json("rules", "history")] == ["ours"]
    assert as_json("rules", "show")["text"] == file.read_text()
    DeadLetter.objects.update(owner="mail")
    assert "2 letters changed" in run("rules", "apply")


def test_a_file_that_cannot_be_in_force_is_refused_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("* -> imports\n* -> zzz\njob=gone -> mail\n")
    code, said = refused("rules", "import", file)
    assert (code, said.startswith("FILE: line 2: no team is called zzz")) == (1, True)
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("rules", "import", str(file), stderr=out)
    assert out.getvalue().startswith("Refused: FILE: line 1: never matches: line 2")
    assert refused("rules", "check", file) == (1, "2 of its lines must be mended")
    assert not RuleSet.objects.exists()
    file.write_bytes(b"\xff")
    assert refused("rules", "import", file)[1].endswith("is no text in UTF-8 (byte 0)")
    assert "cannot be read: No such file" in refused("rules", "check", tmp_path / "none")[1]
    assert refused("rules", "show", "--version", "7")[1].startswith("--version: there is no version 7")
    assert run("rules", "check") == "0 rules, nothing is wrong\n"
    file.write_text("* -> imports\n")
    assert run("rules", "check", file) == "1 rule, nothing is wrong\n"


def test_without_an_action_what_is_there_is_shown() -> None:
    assert run("rules") == run("rules", "show")
    assert run("redirects") == run("redirects", "list")
    assert run("replays") == run("replays", "list") == "no such replays\n"


def test_a_team_without_members_is_a_warning(tmp_path: Path) -> None:
    Team.objects.create(name="nightowls")
    file = tmp_path / "rules.txt"
    file.write_text("* -> nightowls\n")
    assert run("rules", "check", file).startswith("warning: line 1: nightowls has no members")


def test_teams_are_made_changed_and_listed(acme: Tenant, ada: User) -> None:
    die(acme, job_type="unknown.job")
    assert run("teams", "create", "night shift", "--about", "the nights", "--escalates-to", "mail", "--after", "5") == (
        "made night shift\n"
    )
    assert as_json("teams", "add", "night shift", "ada")["members"] == ["ada"]
    assert run("teams", "set", "night shift", "--escalates-to", "none") == "changed night shift\n"
    rows = {row["name"]: row for row in as_json("teams", "list")}
    assert rows["night shift"] == {
        "name": "night shift", "about": "the nights", "members": ["ada"], "escalates_to": None,
        "escalate_after_min": 5, "open": 0, "overdue": 0, "contracts": [], "rules": [], "default": False,
    }  # fmt: skip
    assert (rows["operations"]["open"], rows["operations"]["default"]) == (1, True)
    assert rows["payments"]["contracts"] == ["billing.send"]
    run("teams", "remove", "night shift", "ada")
    run("teams", "delete", "night shift")
    Team.objects.filter(name="mail").delete()
    assert "used, and no team: mail; make them with" in run("teams", "list")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["create", "a/b"], 1, "NAME: 'a/b' must be 1 to 50 letters"),
        (["create", "mail"], 1, "NAME: a team 'mail' exists already"),
        (["set", "mail"], 2, "give at least one thing to set"),
        (["set", "zzz", "--about", "x"], 1, "NAME: there is no team 'zzz'"),
        (["set", "mail", "--escalates-to", "mail"], 1, "--escalates-to: a team does not escalate to itself"),
        (["add", "mail", "zzz"], 1, "LOGIN: there is no account 'zzz'"),
        (["delete", "operations"], 1, "NAME: operations owns what no rule does"),
    ],
)
def test_what_no_team_may_have_is_one_line(args: list[str], code: int, said: str) -> None:
    refusal = refused("teams", *args)
    assert refusal[0] == code
    assert said in refusal[1]


def test_nobody_who_has_it_is_in_the_way_of_a_command(acme: Tenant, ada: User, bob: User) -> None:
    letter = die(acme)[0]
    letter_take(letter_id=letter.pk, by=ada)
    run("dlq", "assign", letter.pk, "--assignee", "bob")
    assert DeadLetter.objects.get(pk=letter.pk).assignee == bob


def test_an_owner_that_is_no_team_is_told_by_the_check() -> None:
    Team.objects.filter(name="mail").delete()
    told = [message for message in run_checks(tags=["jobops"], databases=["default"]) if message.id == "jobops.W005"]
    assert [message.obj for message in told] == ["mail"]
    assert "owner 'mail' of mail.send is no team: nobody is told of what dies" in told[0].msg
    # Whoever does not ask for the database gets no query.
    assert "jobops.W005" not in {message.id for message in run_checks(tags=["jobops"])}
