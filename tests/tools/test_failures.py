"""A failed test prints the command that runs this test alone, with the same random values."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
FAILING = """
import random

import pytest
from hypothesis import given, strategies
from edge_worker.harness.sampling import SEED

DRAWN = []

@given(strategies.integers())
def collect(number):
    DRAWN.append(number)

@pytest.mark.parametrize("name", ["with 'quotes'"])
def test_that_fails(name):
    collect()
    assert not (random.Random(SEED).random(), DRAWN)
"""


def run(command: list[str], folder: Path, environ: Mapping[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=dict(environ), capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_failed_test_prints_the_command_that_repeats_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(FAILING)
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("SVC_TEST_", "PYTEST_"))}
    environ["PYTHONPATH"] = str(ROOT)
    first = run([sys.executable, "-m", "pytest", "-vv"], tmp_path, environ)
    print(first)
    [command] = re.findall(r"^(SVC_TEST_SEED=\d+ \.venv/bin/python -m pytest .*)$", first, re.MULTILINE)
    setting, python, *more = shlex.split(command)
    assert python == ".venv/bin/python"
    name, _, value = setting.partition("=")
    again = run([sys.executable, *more, "-vv"], tmp_path, {**environ, name: value})
    [failure] = re.findall(r"^E +assert not (.*)$", first, re.MULTILINE)
    assert f"assert not {failure}" in again
