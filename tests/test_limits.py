"""Tests of rate limits with a sliding window."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.limits import SlidingLimit


@pytest.mark.rule("C10")
def test_request_beyond_the_quota_is_rejected_with_the_time_to_wait():
    limit = SlidingLimit(3)
    assert [limit.count("a", at).remaining for at in (0, 10_000, 20_000)] == [2, 1, 0]
    refused = limit.count("a", 20_001)
    assert not refused.allowed
    assert refused.reset_s == 40
    assert not limit.count("a", 59_999).allowed
    assert limit.count("a", 60_000).allowed
    assert not limit.count("a", 60_000).allowed


def test_names_have_separate_windows():
    limit = SlidingLimit(1)
    assert limit.count("a", 0).allowed
    assert limit.count("b", 0).allowed
    assert not limit.count("a", 1).allowed


def test_idle_names_are_forgotten():
    limit = SlidingLimit(5)
    for n in range(1_000):
        limit.count(f"old {n}", 0)
    for n in range(1_000):
        limit.count("busy", 60_000 + n)
    assert len(limit) == 1


def test_number_of_names_in_memory_is_limited():
    limit = SlidingLimit(1, most_names=100)
    for n in range(1_000):
        limit.count(f"name {n}", 0)
        limit.count("often", 0)
    assert len(limit) == 100
    assert not limit.count("often", 1).allowed


def test_given_back_request_does_not_count():
    limit = SlidingLimit(2)
    for at in range(10):
        assert limit.count("a", at).allowed
        limit.give_back("a")
    limit.give_back("a")
    limit.give_back("never seen")
    assert [limit.count("a", 20).allowed for _ in range(3)] == [True, True, False]
    limit.give_back("a")
    assert limit.count("a", 21).allowed
    assert limit.count("b", 60_021).allowed
    assert len(limit) == 1


def test_clock_set_back_starts_a_new_window():
    limit = SlidingLimit(1)
    assert limit.count("a", 10_000_000).allowed
    assert limit.count("a", 5_000_000).allowed


@given(steps=st.lists(st.integers(min_value=0, max_value=30_000), max_size=60), quota=st.integers(1, 5))
def test_no_window_exceeds_the_quota(steps, quota):
    limit = SlidingLimit(quota)
    now, allowed = 0, []
    for step in steps:
        now += step
        verdict = limit.count("a", now)
        if verdict.allowed:
            allowed.append(now)
        else:
            assert limit.count("a", now + verdict.reset_s * 1000).allowed
            now += verdict.reset_s * 1000
            allowed.append(now)
    for at in allowed:
        assert len([other for other in allowed if at - 60_000 < other <= at]) <= quota


@pytest.mark.rule("R6")
def test_thirty_reads_per_minute_and_user():
    reads = SlidingLimit(30)
    assert all(reads.count("1", now).allowed for now in range(30))
    assert not reads.count("1", 59_999).allowed
    assert reads.count("2", 59_999).allowed
    assert reads.count("1", 60_000).allowed


def test_reserved_slots_are_only_for_requests_without_keep():
    limit = SlidingLimit(3)
    assert [limit.count("a", at, keep=1).allowed for at in (0, 10_000, 20_000)] == [True, True, False]
    assert limit.count("a", 20_000).allowed
    # `keep` reserves one slot. A request with `keep` is allowed only after two earlier requests have left the window.
    assert limit.count("a", 20_001, keep=1).reset_s == 50
    assert not limit.count("a", 60_000, keep=1).allowed
    assert limit.count("a", 70_000, keep=1).allowed
