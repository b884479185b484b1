"""`make test-busy`: run all tests several times while other processes keep the machine busy. Print the results.

Each run is a complete `make test` without retries. Its output is in var/test-runs.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "var/test-runs"
_SPIN = "while True: pass"


@dataclass(frozen=True)
class Run:
    """A run of a command. `cpu_s` counts only the command's processes, not those that keep the machine busy."""

    passed: bool
    took_s: float
    cpu_s: float
    log: Path

    @property
    def summary(self) -> str:
        """Return pytest's last summary line, or "" if there is none."""
        lines = re.findall(r"^=* ?(\d+ (?:passed|failed).*?) ?=*$", self.log.read_text(errors="replace"), re.MULTILINE)
        return lines[-1] if lines else ""


@contextmanager
def kept_busy(processes: int) -> Iterator[None]:
    """Run this number of processes during the block. Each of them keeps one core busy."""
    started = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def run(command: Sequence[str], log: Path) -> Run:
    """Run a command and write its output to a file."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began_at = time.monotonic()
    with log.open("wb") as file:
        status = subprocess.run(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT).returncode
    took_s = time.monotonic() - began_at
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(status == 0, took_s, cpu_s, log)


def minutes(seconds: float) -> str:
    """Format a duration as minutes and seconds: `7:05`."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def main() -> int:
    """Run the tests and return 0 if every run passed."""
    parser = argparse.ArgumentParser(prog="make test-busy", description="Run all tests several times.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--busy", type=int, default=2, help="number of busy processes that run alongside the tests")
    options = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    failed = 0
    print(f"{options.runs} runs of `make test`, {options.busy} busy processes alongside", flush=True)
    for number in range(1, options.runs + 1):
        with kept_busy(options.busy):
            done = run(["make", "test"], LOGS / f"{number}.log")
        failed += not done.passed
        outcome = "passed" if done.passed else f"FAILED, see {done.log.relative_to(ROOT)}"
        print(f"{number}: {minutes(done.took_s)}, CPU {minutes(done.cpu_s)}, {done.summary}: {outcome}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
