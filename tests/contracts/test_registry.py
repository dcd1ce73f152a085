"""Names, aliases and who keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from jobops import UnknownJobType, job
from jobops.contracts import registry
from jobops.contracts.registry import Registry
from tests.contracts.samples import GOOD


def declare(name: str, *aliases: str) -> Any:
    # Compiled one by one, so that each has a place of its own in the source, as in real modules.
    namespace: dict[str, Any] = {}
    exec(compile("def func() -> None: ...", f"<{name} {aliases} {len(registry.all_types())}>", "exec"), namespace)
    return job(**GOOD, name=name, aliases=aliases)(namespace["func"]).job_type


def test_a_type_is_found_by_its_name_and_by_its_former_names() -> None:
    mail = declare("mail.send", "mails.send", "old.mail")
    assert registry.resolve("mail.send") is mail
    assert registry.resolve("old.mail") is mail
    assert registry.resolve("os.system") is None
    assert registry.get("mails.send") is mail


def test_an_unknown_name_is_refused_with_the_nearest_ones() -> None:
    """SE-10"""
    declare("billing.send_invoice")
    with pytest.raises(UnknownJobType, match=r"'billing.send_invoce'; did you mean billing.send_invoice\?"):
        registry.get("billing.send_invoce")
    with pytest.raises(UnknownJobType, match=r"must be declared in a jobs\.py"):
        registry.get("os.system")


def test_the_first_type_of_a_name_keeps_it_and_the_second_is_a_conflict(registered: Registry) -> None:
    first, second = declare("twice"), declare("twice")
    assert registry.resolve("twice") is first
    (conflict,) = registered.conflicts()
    assert (conflict.kind, conflict.name, conflict.holder, conflict.loser) == ("name", "twice", first, second)


def test_a_name_goes_before_an_alias_whichever_came_first(registered: Registry) -> None:
    greedy = declare("a.greedy", "b.right")
    right = declare("b.right")
    assert registry.resolve("b.right") is right
    (conflict,) = registered.conflicts()
    assert (conflict.kind, conflict.holder, conflict.loser) == ("alias", right, greedy)


def test_two_types_with_one_alias_and_an_alias_of_oneself_are_conflicts(registered: Registry) -> None:
    one, two, own = declare("one", "shared"), declare("two", "shared"), declare("zelf", "zelf")
    assert registry.resolve("shared") is one
    assert [(c.name, c.loser) for c in registered.conflicts()] == [("shared", two), ("zelf", own)]


def test_a_module_that_is_imported_again_makes_no_second_type(registered: Registry) -> None:
    def load() -> Any:
        @job(**GOOD)
        def same() -> None: ...

        return same.job_type

    load()
    again = load()
    assert registered.conflicts() == []
    assert registry.resolve(again.name) is again


def test_two_functions_behind_one_wrapper_are_two_types(registered: Registry) -> None:
    def wrapped(func: Any) -> Any:
        def wrapper() -> Any:
            return func()

        return wrapper

    for func in (int, str):
        job(**GOOD)(wrapped(func))
    assert [conflict.kind for conflict in registered.conflicts()] == ["name"]


def test_types_are_listed_by_name() -> None:
    declare("b"), declare("a")
    assert [job_type.name for job_type in registry.all_types()] == ["a", "b"]
