"""How long each test file takes: a plug-in of pytest records it, `make check` reads it.

The times are kept in pytest's cache, so they are those of this machine and are not committed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[1]
# Of a file that no run has recorded yet.
UNKNOWN_S = 10.0
_KEY = "svc/test-times"


class TestTimes:
    """Adds up the seconds that the tests of each file took, set-up and tear-down included."""

    __test__ = False

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._took_s: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one phase of one test."""
        self._took_s[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Keep the times of the files that ran as a whole; those of other files stay."""
        cache = getattr(self._config, "cache", None)  # absent with `-p no:cacheprovider`
        option = self._config.option
        whole_files = not (option.keyword or option.markexpr or any("::" in name for name in self._config.args))
        if cache is not None and whole_files:
            kept = cache.get(_KEY, {})
            cache.set(_KEY, {**kept, **{path: round(took_s, 2) for path, took_s in self._took_s.items()}})


def recorded_times() -> dict[str, float]:
    """Seconds by path of the test file, as the last runs on this machine took them."""
    path = ROOT / ".pytest_cache/v" / _KEY
    times: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}
    return times
