"""Fixtures for all tests: stores, emulator, frozen clock, and checks for unexpected errors and leaked secrets."""

from __future__ import annotations

import logging
import os
import re
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import HealthCheck, settings

from edge_worker.harness.sampling import EVERYTHING
from edge_worker.tools.next_bundle import build_next_bundle
from svc.store import open_store
from svc.worker.bundle import load_bundle
from tests import cheap_passwords
from tests.clock import FrozenClock
from tests.databases import make_sqlite_store, own_postgres, postgres_server, sqlite_config
from tests.emulated import emulator_process, fresh
from tests.engines import parametrize_engines
from tests.schemas import Schemas, open_schemas
from tests.secrecy import SEARCH, log_lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

    from edge_worker.emulator.client import Emulator
    from svc.config import StoreConfig
    from svc.store.tx import Store
    from svc.worker.bundle import WorkerBundle
    from tests.databases import OwnPostgres
    from tests.emulated import Running


T = TypeVar("T")

# Importing this module makes password hashing cheap in this process, not only in forked services.
assert cheap_passwords.AS_IT_IS

# No deadline per example, because its duration depends on the other tests that run at the same time.
settings.register_profile(
    "tests", deadline=None, max_examples=100 if EVERYTHING else 20, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")


# Tests in these folders spend most of their time waiting for cron runs, token propagation and retries. The Worker's own
# tests wait the longest, so they are spread among the others.
_WAITING = ("tests/journeys/", "tests/actors/", "tests/field_check/")
_WAITING_LONGEST = "edge_worker/test/"
# Only two processes run the tests in this folder. In each process, these tests share a browser and two services. They
# run without other tests in between, because the process closes the browser before any other test.
_BROWSER, _WITH_BROWSER = "tests/web/", 2
# `make test-all` multiplies the time limits of all tests by this number, because tests with all cases take longer.
_MORE_TIME = 4


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests: those with a longer timeout, browser tests, then waiting tests spread among CPU-bound tests.

    With this order, no long test runs alone at the end, and no core is idle for long. xdist assigns each process a
    contiguous part of the list, so each process gets a share of the long and of the waiting tests. A process that has
    run all of its tests takes over the last tests of another process. These are never browser tests.
    """
    long, waiting, longest, browser, working = [], [], [], [], []
    for item in items:
        if item.get_closest_marker("timeout") is not None:
            long.append(item)
        elif item.nodeid.startswith(_WAITING):
            waiting.append(item)
        elif item.nodeid.startswith(_WAITING_LONGEST):
            longest.append(item)
        elif item.nodeid.startswith(_BROWSER):
            browser.append(item)
        else:
            working.append(item)
    waiting = list(spread(longest, waiting))
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    ordered: list[pytest.Item] = []
    for number in range(processes):
        left = processes - number
        first, between = long[number::processes], waiting[number::processes]
        shown = browser[: len(browser) // left] if left <= _WITH_BROWSER else []
        part = (len(items) - len(ordered)) // left - len(first) - len(between) - len(shown)
        ordered += [*first, *shown, *spread(between, working[:part])]
        del browser[: len(shown)], working[:part]
    items[:] = ordered
    for item in items if EVERYTHING else ():
        marker = item.get_closest_marker("timeout")
        limit_s = float(marker.args[0] if marker else item.config.getini("timeout"))
        item.add_marker(pytest.mark.timeout(_MORE_TIME * limit_s), append=False)


def spread(few: Sequence[T], many: Sequence[T]) -> Iterator[T]:
    """Yield the items of both lists in their order, with the items of `few` spaced evenly among those of `many`."""
    done = 0
    for number, one in enumerate(few):
        until = len(many) * number // len(few)
        yield from many[done:until]
        yield one
        done = until
    yield from many[done:]


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a real PostgreSQL server."""
    with postgres_server() as url:
        yield url


@pytest.fixture(scope="session")
def schemas(postgres_url: str) -> Iterator[Schemas]:
    """A pool of schemas on the server. Tests reuse the schemas one after the other."""
    with open_schemas(postgres_url) as opened:
        yield opened


@pytest.fixture(scope="session")
def server() -> Iterator[OwnPostgres]:
    """A real PostgreSQL server. Tests may kill it, and must then restart it."""
    with own_postgres() as running:
        yield running


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the database engines for each test that needs a store."""
    parametrize_engines(metafunc)


@pytest.fixture
def store_config(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreConfig]:
    """The configuration of an empty store. `tests/engines.py` chooses the engine."""
    if request.param == "sqlite":
        yield sqlite_config(tmp_path)
    else:
        with request.getfixturevalue("schemas").one() as config:
            yield config


@pytest.fixture
async def store(store_config: StoreConfig) -> AsyncIterator[Store]:
    """An open store, migrated and empty."""
    if store_config.engine == "sqlite":
        make_sqlite_store(store_config)
    async with open_store(store_config) as opened:
        yield opened


@pytest.fixture(scope="session")
def next_bundle_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that contains the build of a future Worker version, which has one additional migration."""
    folder = tmp_path_factory.mktemp("bundle")
    build_next_bundle(folder)
    return folder


@pytest.fixture(scope="session")
def next_bundle(next_bundle_folder: Path) -> WorkerBundle:
    """The bundle of a future Worker version."""
    return load_bundle(next_bundle_folder)


@pytest.fixture(scope="session")
def emulated() -> Iterator[Running]:
    """The emulator, shared by all tests; each test uses a separate account."""
    with emulator_process() as running:
        yield running


@pytest.fixture
async def emulator(emulated: Running) -> AsyncIterator[Emulator]:
    """The client for the emulator's control API. The emulator is reset before each test."""
    async with fresh(emulated) as control:
        yield control


@pytest.fixture
def clock() -> FrozenClock:
    """A wall clock that changes only when the test changes it."""
    return FrozenClock()


class ExpectedErrors:
    """Log lines with ERROR, or leaks of secrets, that a test causes on purpose. Each of them must occur."""

    def __init__(self) -> None:
        self.patterns: list[str] = []

    def allow(self, pattern: str) -> None:
        """Expect at least one text that matches the regular expression."""
        self.patterns.append(pattern)

    def compared(self, texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the unexpected texts, and the patterns that match no text."""
        unexpected = [text for text in texts if not any(re.search(pattern, text) for pattern in self.patterns)]
        missing = [pattern for pattern in self.patterns if not any(re.search(pattern, text) for text in texts)]
        return unexpected, missing


class _ErrorLines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1]:
            text += f": {record.exc_info[1]!r}"
        self.messages.append(text)


@pytest.fixture
def expected_leaks() -> ExpectedErrors:
    """Call `expected_leaks.allow(pattern)` if the test leaks a secret on purpose."""
    return ExpectedErrors()


@pytest.fixture(autouse=True)
def no_secret_in_the_clear(request: pytest.FixtureRequest, expected_leaks: ExpectedErrors) -> Iterator[None]:
    """Fail the test if the service wrote a secret in clear text; see `tests/secrecy.py`."""
    SEARCH.begin()
    with log_lines() as lines:
        yield
    SEARCH.text("the log", "\n".join(lines).encode())
    folder = request.node.funcargs.get("tmp_path")
    if folder is not None:
        SEARCH.folder(folder)
    unexpected, missing = expected_leaks.compared(sorted(SEARCH.leaks))
    assert not unexpected, f"secrets in the clear: {unexpected}"
    assert not missing, f"expected leaks are missing: {missing}"


@pytest.fixture
def expected_errors() -> ExpectedErrors:
    """Call `expected_errors.allow(pattern)` if the test causes an ERROR line on purpose."""
    return ExpectedErrors()


@pytest.fixture(autouse=True)
def no_unexpected_errors(expected_errors: ExpectedErrors) -> Iterator[None]:
    """Fail the test if the log has unexpected ERROR lines or lacks expected ones."""
    lines = _ErrorLines()
    logging.getLogger().addHandler(lines)
    yield
    logging.getLogger().removeHandler(lines)
    unexpected, missing = expected_errors.compared(lines.messages)
    assert not unexpected, f"ERROR in the log: {unexpected}"
    assert not missing, f"expected ERROR lines are missing: {missing}"
