"""Tests that the pause between attempts doubles with each failure, up to a maximum."""

from __future__ import annotations

from svc.actors.backoff import backoff_s


def test_pause_doubles_up_to_the_longest_one():
    assert [backoff_s(failures, 1.0, 60.0) for failures in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert backoff_s(1, 90.0, 60.0) == 60


def test_any_number_of_failures_has_a_pause():
    assert backoff_s(100_000, 1.0, 30.0) == 30
