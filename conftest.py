"""Hooks for all tests: one random seed per run, and the command that repeats a failed test."""

from __future__ import annotations

import gc
import os
import shlex
from typing import TYPE_CHECKING

import pytest
from hypothesis import core

from edge_worker.harness.sampling import SEED
from tools.test_times import TestTimes

if TYPE_CHECKING:
    from collections.abc import Generator

# Hypothesis uses the seed of the run, so that repeating a run repeats its examples.
core.global_force_seed = SEED  # type: ignore[assignment]  # as the option --hypothesis-seed does


def pytest_configure(config: pytest.Config) -> None:
    """Record the duration of each test file, in the main process only."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(TestTimes(config))


def pytest_report_header() -> str:
    """Show the seed in the header of the report."""
    return f"seed: {SEED}"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Find the tests without garbage collection, and exclude all objects loaded so far from later collections."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the command that repeats a failed test to its report."""
    report = yield
    if report.failed:
        report.sections.append(("To run this test alone", command_of(item.nodeid)))
    return report


def command_of(nodeid: str) -> str:
    """Return the shell command that runs one test with the settings and seed of this run, from the project's folder."""
    settings = {name: value for name, value in os.environ.items() if name.startswith("SVC_TEST_")}
    named = " ".join(f"{name}={shlex.quote(value)}" for name, value in sorted(settings.items()))
    return f"{named} .venv/bin/python -m pytest {shlex.quote(nodeid)}"
