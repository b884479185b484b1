"""What is built and installed elsewhere: whole, or refused with a word on what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def copy_of(folder: Path, *, bundle: bool) -> Path:
    """What a package is built from, without what git does not know."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    left_out = ("__pycache__",) if bundle else ("__pycache__", "bundle")
    shutil.copytree(ROOT / "svc", folder / "svc", ignore=lambda _, names: set(names) & set(left_out))
    return folder


def run(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**environ, "PYTHONPATH": str(folder), **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def files_of(package: Path) -> set[str]:
    if package.suffix == ".whl":
        return set(zipfile.ZipFile(package).namelist())
    with tarfile.open(package) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_no_package_is_built_without_the_worker(tmp_path, kind):
    built = run(copy_of(tmp_path, bundle=False), "hatchling", "build", "--target", kind)
    assert built.returncode != 0
    assert "The worker was not built" in built.stderr
    assert "Run `make build` first." in built.stderr
    assert not (tmp_path / "dist").exists() or not list((tmp_path / "dist").iterdir())


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_package_holds_the_worker_and_everything_that_the_service_reads(tmp_path, kind):
    built = run(copy_of(tmp_path, bundle=True), "hatchling", "build", "--target", kind)
    assert built.returncode == 0, built.stderr
    [package] = (tmp_path / "dist").iterdir()
    ours = {path.relative_to(tmp_path).as_posix() for path in (tmp_path / "svc").rglob("*") if path.is_file()}
    assert {"svc/bundle/manifest.json", "svc/bundle/svc-edge.js"} <= ours
    assert ours - files_of(package) == set()


def test_an_editable_install_may_come_before_the_worker(tmp_path):
    """As `make build` does it: Node, which builds the worker, comes with the environment."""
    editable = "import hatchling.build, sys; hatchling.build.build_editable(sys.argv[1])"
    made = subprocess.run(
        [sys.executable, "-c", editable, "."],
        cwd=copy_of(tmp_path, bundle=False),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize("command", ["check", "serve"])
def test_a_service_without_the_worker_says_what_to_do(tmp_path, command):
    answer = run(copy_of(tmp_path, bundle=False), "svc", command, SVC_HTTP_BIND="127.0.0.1:0")
    assert answer.returncode == 1
    text = answer.stdout + answer.stderr
    assert "bundle cannot be read" in text
    assert "run: make build" in text
    assert "Traceback" not in text
