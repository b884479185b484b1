"""The budget of report reads: at most so many in any minute, for each user alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.actors.budget import ReadBudget


@pytest.mark.rule("R6")
def test_thirty_reads_a_minute_for_each_user():
    budget = ReadBudget(30)
    assert all(budget.take(1, now) for now in range(30))
    assert not budget.take(1, 59_999)
    assert budget.take(2, 59_999)
    assert budget.take(1, 60_000)


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 20_000)), max_size=200))
def test_no_minute_ever_holds_more_than_the_budget(steps):
    budget = ReadBudget(5)
    now = 0
    granted: dict[int, list[int]] = {}
    for user_id, wait_ms in steps:
        now += wait_ms
        times = granted.setdefault(user_id, [])
        within = [at for at in times if at > now - 60_000]
        taken = budget.take(user_id, now)
        assert taken == (len(within) < 5)
        if taken:
            times.append(now)


def test_users_who_stopped_reading_are_forgotten():
    budget = ReadBudget(5)
    for user_id in range(5_000):
        assert budget.take(user_id, user_id * 1_000)
    assert len(budget._spent) < 2_000
