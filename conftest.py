"""For all tests: one random seed per run, the command that repeats a failed test, and the preloaded programs."""

from __future__ import annotations

import gc
import os
import shlex
from typing import TYPE_CHECKING

import pytest
from hypothesis import core
from hypothesis.internal.conjecture import providers

from edge_worker.harness.sampling import SEED
from edge_worker.programs import forking
from tools.test_times import TestTimes

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

# By default, Hypothesis also draws constants from the sources of all loaded modules, which each process of a run would
# have to parse. A test that runs alone loads fewer modules, so it would draw other examples with the same seed.
providers.is_local_module_file = lambda _: False  # type: ignore[attr-defined, assignment]
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


@pytest.fixture(scope="session", autouse=True)
def programs() -> Iterator[None]:
    """Preload the service and the emulator, so that tests can start them as forks."""
    with forking(
        "svc.main",
        "svc.store.engines.postgres.opening",
        "svc.store.engines.sqlite.opening",
        "tests.cheap_passwords",
        "tests.preloaded",
        "edge_worker.emulator.__main__",
    ):
        yield
