"""Which database engine a test runs on.

Tests of `store/` and `backup/`, and all that are marked `both_engines`, run on SQLite and on PostgreSQL: there the
engines could differ. Any other test needs some store and runs on one of them, which its name decides, so that each
engine has half of the tests. With SVC_TEST_ALL every test runs on both.
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
    """Parametrize the fixture `store_config`, unless the test chooses its engines itself."""
    if FIXTURE not in metafunc.fixturenames:
        return
    if any(FIXTURE in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")):
        return
    metafunc.parametrize(FIXTURE, engines_of(metafunc.definition), indirect=True)


def engines_of(test: pytest.Item) -> tuple[str, ...]:
    """The engines that a test runs on."""
    in_both = EVERYTHING or test.nodeid.startswith(_BOTH) or test.get_closest_marker("both_engines") is not None
    return ENGINES if in_both else (ENGINES[zlib.crc32(test.nodeid.encode()) % len(ENGINES)],)
