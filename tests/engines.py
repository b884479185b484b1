"""Assignment of tests to database engines.

Tests in `store/` and `backup/`, and tests marked `both_engines`, run on both SQLite and PostgreSQL, because their
results could differ. Every other test runs on one engine, which is chosen by a hash of the test's name. Each engine
therefore runs about half of these tests. If SVC_TEST_ALL is set, all tests run on both engines.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from edge_worker.harness.sampling import EVERYTHING

if TYPE_CHECKING:
    import pytest

ENGINES = ("sqlite", "postgres")
FIXTURE = "store_config"
_BOTH = ("tests/store/", "tests/backup/")


def parametrize_engines(metafunc: pytest.Metafunc) -> None:
    """Parametrize the fixture `store_config` by engine, unless the test chooses its engines itself."""
    if FIXTURE not in metafunc.fixturenames:
        return
    if any(FIXTURE in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")):
        return
    metafunc.parametrize(FIXTURE, engines_of(metafunc.definition), indirect=True)


def engines_of(test: pytest.Item) -> tuple[str, ...]:
    """Return the names of the engines that a test runs on."""
    in_both = EVERYTHING or test.nodeid.startswith(_BOTH) or test.get_closest_marker("both_engines") is not None
    return ENGINES if in_both else (ENGINES[zlib.crc32(test.nodeid.encode()) % len(ENGINES)],)
