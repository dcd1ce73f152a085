"""Which values a column holds."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.models import UNDRAINED, State
from dlq.occurring import values_in
from tests.dlq.letters import letters
from tests.tenants.people import new_tenant


def test_each_value_of_the_states_is_there_once_sorted_and_none_is_blank(db: None) -> None:
    acme = new_tenant("acme")
    for owner, state in (
        ("payments", "open"),
        ("billing", "replaying"),
        ("payments", "replaying"),
        ("ops", "resolved"),
    ):
        letters(acme, 3, owner=owner, state=state)
    letters(acme, 1, job_type="")
    assert values_in("owner", UNDRAINED, 10) == ["billing", "ops", "payments"]
    assert values_in("owner", [State.RESOLVED], 10) == ["ops"]
    assert values_in("owner", [State.DISCARDED], 10) == []
    assert values_in("owner", UNDRAINED, 2) == ["billing", "ops"]
    assert values_in("job_type", UNDRAINED, 10) == ["tests.echo"]


def test_it_takes_one_query_for_each_state(db: None) -> None:
    letters(new_tenant("acme"), 50)
    with CaptureQueriesContext(connection) as queries:
        values_in("owner", UNDRAINED, 10)
    assert len(queries) == 2


def test_a_column_without_an_index_is_refused(db: None) -> None:
    with pytest.raises(ValueError, match="error is not one of"):
        values_in("error", UNDRAINED, 10)
