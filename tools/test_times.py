"""A pytest plug-in that records the durations of test files, for `make check`.

pytest's cache contains the durations. They are valid only for this host, and are not committed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[1]
# The assumed duration of a file without a recorded run.
UNKNOWN_S = 10.0
_KEY = "svc/test-times"


class TestTimes:
    """Adds up the durations of each file's tests, including setup and teardown."""

    __test__ = False

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._took_s: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the duration of one phase of a test."""
        self._took_s[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Store the durations of the files that ran, unless single tests were selected. Keep those of other files."""
        cache = getattr(self._config, "cache", None)  # there is no cache with `-p no:cacheprovider`
        option = self._config.option
        whole_files = not (option.keyword or option.markexpr or any("::" in name for name in self._config.args))
        if cache is not None and whole_files:
            kept = cache.get(_KEY, {})
            cache.set(_KEY, {**kept, **{path: round(took_s, 2) for path, took_s in self._took_s.items()}})


def recorded_times() -> dict[str, float]:
    """Return the durations recorded on this host, in seconds, by test file path."""
    path = ROOT / ".pytest_cache/v" / _KEY
    times: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}
    return times
