"""`make test-profile`: show the CPU time of the tests by folder and file, including all processes that tests start.

The pytest plug-in (`-p tools.test_profile`, with SVC_TEST_PROFILE set to a folder) writes a line for each phase of each
test. The line contains the CPU time of the pytest process and all of its descendants during the phase. The CPU time of
a process that has ended is counted when its parent waits for the process. If the parent never does, this time is not
counted.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# The positions of fields in /proc/PID/stat after the program's name (proc_pid_stat(5)).
_OWN, _ENDED = slice(11, 13), slice(13, 15)


def tree_cpu_s(root: int) -> float:
    """Return the CPU seconds of a process and its descendants, including those of ended processes that were reaped."""
    total_s, waiting = 0.0, [root]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        with suppress(OSError):  # the process has ended
            fields = (process / "stat").read_text().rpartition(") ")[2].split()
            total_s += sum(map(int, fields[_OWN] + fields[_ENDED])) / _TICKS_PER_S
            for thread in (process / "task").iterdir():
                with suppress(OSError):  # the thread has ended
                    waiting += map(int, (thread / "children").read_text().split())
    return total_s


class TestProfile:
    """Writes the duration and CPU seconds of each phase of each test to a separate file per pytest process."""

    __test__ = False

    def __init__(self, folder: Path) -> None:
        self._file = (folder / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.jsonl").open("a")
        self._measuring_s = 0.0

    def _cpu_s(self) -> float:
        """Return the CPU seconds of this process and its descendants, excluding the time spent in this method."""
        began_s = time.thread_time()
        used_s = tree_cpu_s(os.getpid()) - self._measuring_s
        self._measuring_s += time.thread_time() - began_s
        return used_s

    def _measured(self, nodeid: str, phase: str) -> Generator[None, object, object]:
        cpu_s, began_at = self._cpu_s(), time.monotonic()
        try:
            return (yield)
        finally:
            took_s = time.monotonic() - began_at
            # The difference can be negative, because a process may end without waiting for its children.
            used_s = max(0.0, self._cpu_s() - cpu_s)
            line = {"test": nodeid, "phase": phase, "took_s": took_s, "cpu_s": used_s}
            self._file.write(f"{json.dumps(line)}\n")
            self._file.flush()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure the setup of a test's fixtures."""
        return (yield from self._measured(item.nodeid, "setup"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure a test."""
        return (yield from self._measured(item.nodeid, "call"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure the teardown of a test's fixtures."""
        return (yield from self._measured(item.nodeid, "teardown"))


def pytest_configure(config: pytest.Config) -> None:
    """Measure in the processes that run tests. The pytest-xdist process that distributes the tests is not measured."""
    folder = os.environ.get("SVC_TEST_PROFILE")
    distributes = not hasattr(config, "workerinput") and config.getoption("numprocesses", None)
    if folder and not distributes:
        config.pluginmanager.register(TestProfile(Path(folder)))


@dataclass
class Sum:
    """The totals for the tests of a folder or a file. Times are in seconds."""

    tests: int = 0
    took_s: float = 0.0
    cpu_s: float = 0.0
    set_up_cpu_s: float = 0.0


def folder_of(test: str) -> str:
    """Return the folder of a test, two levels deep: `tests/http` for `tests/http/resources/test_me.py::test_a`."""
    parts = test.partition("::")[0].split("/")[:-1]
    return "/".join(parts[:2])


def summed(lines: Iterable[dict[str, object]], *, by_file: bool) -> dict[str, Sum]:
    """Return the totals by folder or by file, sorted by CPU time in descending order."""
    sums: defaultdict[str, Sum] = defaultdict(Sum)
    for line in lines:
        test, cpu_s = str(line["test"]), float(str(line["cpu_s"]))
        one = sums[test.partition("::")[0] if by_file else folder_of(test)]
        one.tests += line["phase"] == "call"
        one.took_s += float(str(line["took_s"]))
        one.cpu_s += cpu_s
        one.set_up_cpu_s += 0 if line["phase"] == "call" else cpu_s
    return dict(sorted(sums.items(), key=lambda named: -named[1].cpu_s))


def table(sums: dict[str, Sum], most: int) -> list[str]:
    """Return a Markdown table of the entries with the most CPU time, and of the overall total."""
    rows = ["| | tests | CPU s | of which fixtures | time s |", "| --- | ---: | ---: | ---: | ---: |"]
    everything = Sum(
        sum(one.tests for one in sums.values()),
        sum(one.took_s for one in sums.values()),
        sum(one.cpu_s for one in sums.values()),
        sum(one.set_up_cpu_s for one in sums.values()),
    )
    for name, one in [*list(sums.items())[:most], ("all", everything)]:
        rows.append(f"| {name} | {one.tests} | {one.cpu_s:.0f} | {one.set_up_cpu_s:.0f} | {one.took_s:.0f} |")
    return rows


def main() -> None:
    """Print the tables for the profile in the given folder."""
    lines = [json.loads(line) for path in Path(sys.argv[1]).glob("*.jsonl") for line in path.read_text().splitlines()]
    print("\n".join([*table(summed(lines, by_file=False), 50), "", *table(summed(lines, by_file=True), 40)]))


if __name__ == "__main__":
    main()
