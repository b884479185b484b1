"""Tests of `make test-busy`: it runs all tests several times alongside busy processes, and fails if any run fails."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tools import test_runs

if TYPE_CHECKING:
    from pathlib import Path

# Each run appends a line to the file `runs`. It also appends the number of busy processes that `test_runs` has started
# to the file `busy`.
MAKEFILE = """test:
\t@echo run >> runs
\t@pgrep -c -P $$(ps -o ppid= -p $$PPID) -f 'while True' >> busy
\t@echo "===== 7 passed in 1.00s ====="
\t@test "$$(wc -l < runs)" -ne "{failing}"
"""


def run_the_tests(folder: Path, monkeypatch: pytest.MonkeyPatch, *, failing: int = 0) -> int:
    """Run `make test-busy RUNS=3 BUSY=2` in a project in which run number `failing` fails. Return the exit status."""
    (folder / "Makefile").write_text(MAKEFILE.format(failing=failing))
    monkeypatch.setattr(test_runs, "ROOT", folder)
    monkeypatch.setattr(test_runs, "LOGS", folder / "logs")
    monkeypatch.setattr(sys, "argv", ["test_runs", "--runs", "3", "--busy", "2"])
    return test_runs.main()


@pytest.mark.rule("Y12")
def test_busy_processes_run_during_every_run(tmp_path, monkeypatch, capsys):
    assert run_the_tests(tmp_path, monkeypatch) == 0
    assert (tmp_path / "busy").read_text() == "2\n2\n2\n"
    assert [line.rpartition(", ")[2] for line in capsys.readouterr().out.splitlines()[1:]] == [
        "7 passed in 1.00s: passed"
    ] * 3


@pytest.mark.rule("Y12")
def test_one_failed_run_fails_the_command_and_the_others_still_run(tmp_path, monkeypatch, capsys):
    assert run_the_tests(tmp_path, monkeypatch, failing=2) == 1
    outcomes = [line.rpartition(": ")[2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert outcomes[0] == outcomes[2] == "passed"
    assert outcomes[1].startswith("FAILED, see ")
