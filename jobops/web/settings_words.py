"""Teams and ownership rules in words. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dlq.owners.previewing import LinePreview, Preview
from dlq.owners.saving import Saved
from jobops.web.formats import plural

if TYPE_CHECKING:
    from jobops.web.selectors.settings_teams import TeamPage, TeamsPage

LETTERS = "open dead letter"
MOST_NAMED = 4


def teams_title(found: TeamsPage) -> str:
    """The page in one sentence."""
    if not found.lines:
        return "No team yet: nobody is told when something dies."
    teams = plural(len(found.lines), "team")
    if found.nobodys:
        are = "is" if len(found.nobodys) == 1 else "are"
        return f"{teams}, and {plural(len(found.nobodys), 'name')} that {are} used and no team has."
    if found.alone:
        return f"{teams}; nobody is in {_named(found.alone)}."
    return f"{teams}, each with members."


def team_title(found: TeamPage) -> str:
    """One team in one sentence."""
    uses, name = found.uses, found.team.name
    if not uses.open:
        return f"{name} has nothing to drain."
    late = f", {uses.overdue:,} of them overdue" if uses.overdue else ", none of them overdue"
    return f"{name} has {plural(uses.open, LETTERS)}{late}."


def rules_title(rules: int, held: int) -> str:
    """The page in one sentence."""
    if not rules:
        return "No rule yet: each dead letter goes to the team that its contract names."
    hand = (
        f"; {plural(held, LETTERS)} {'is' if held == 1 else 'are'} where a person put {'it' if held == 1 else 'them'}"
    )
    return f"{plural(rules, 'rule')} {'says' if rules == 1 else 'say'} whose a dead letter is{hand if held else ''}."


def effect_words(effect: Preview) -> str:
    """What a text would do as a whole."""
    if not effect.total:
        return "There is no open dead letter now: it decides about those to come."
    if not effect.moved:
        return f"None of the {plural(effect.total, LETTERS)} would go to another team."
    return f"{effect.moved:,} of {plural(effect.total, LETTERS)} would go to another team."


def line_words(does: LinePreview) -> str:
    """What one rule would do: which letters it takes from whom, and what stays."""
    moved = sum(does.taken.values())
    if not does.letters and not does.held:
        return "No open dead letter fits it, or a later rule takes them."
    parts = []
    if moved:
        parts.append(f"Would take {from_words(does.taken)}.")
    if kept := does.letters - moved:
        parts.append(f"{plural(kept, LETTERS)} {'is' if kept == 1 else 'are'} the team’s already.")
    if does.held:
        parts.append(
            f"{does.held:,} stay where a person put them." if does.held > 1 else "1 stays where a person put it."
        )
    return " ".join(parts)


def returned_words(effect: Preview) -> list[str]:
    """What goes back to contracts and the default, as no rule decides about it any more."""
    sums: dict[str, Counter[str]] = {}
    for owner, then in effect.returned.items():
        for team, count in then.items():
            sums.setdefault(team, Counter())[owner] += count
    return [f"{team} would get {from_words(taken)}, by contract or default." for team, taken in sorted(sums.items())]


def saved_words(saved: Saved) -> str:
    """What saving did."""
    if not saved.is_new:
        return "These are the rules in force already."
    text = f"Version {saved.version} of the rules is in force: {plural(saved.letters, LETTERS)} "
    text += "is decided otherwise now." if saved.letters == 1 else "are decided otherwise now."
    return f"{text} The others follow within minutes." if saved.going_on else text


def from_words(taken: Counter[str]) -> str:
    """``214 open dead letters from payments, 12 from billing``."""
    first, *others = taken.most_common()
    text = [
        f"{plural(first[1], LETTERS)} from {first[0]}",
        *(f"{count:,} from {owner}" for owner, count in others[:MOST_NAMED]),
    ]
    if len(others) > MOST_NAMED:
        rest = sum(count for _, count in others[MOST_NAMED:])
        text.append(f"{rest:,} from {plural(len(others) - MOST_NAMED, 'other team')}")
    return ", ".join(text)


def _named(names: list[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else shown
