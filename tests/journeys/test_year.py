"""Run a small part of the simulated year in `bench/year.py`. The numbers must be exact despite outages of Workers."""

from __future__ import annotations

import pytest

from bench.year import Shape, Simulation


@pytest.mark.rule("W3", "R1", "R2")
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(Shape(accounts=2, targets=4, days=43), id="days pushed at their end"),
        pytest.param(Shape(accounts=2, targets=4, days=3).whole(), id="a push for every hour"),
    ],
)
async def test_days_and_hours_are_exact_after_absences_replays_and_housekeeping(store, shape):
    simulation = Simulation(store, shape)
    await simulation.begin()
    await simulation.run()
    assert await simulation.check() > 0.7 * shape.accounts * shape.targets * shape.days
    assert simulation.pushed > shape.accounts
