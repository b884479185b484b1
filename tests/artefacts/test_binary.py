"""Tests of `dist/svc`, the one-file binary that `make binary` builds. The binary runs without other installed files."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from importlib.metadata import distributions, version
from pathlib import Path

import pytest

from edge_worker.emulator.process import open_emulator
from edge_worker.harness.service import Program
from tests.artefacts.journey import Place, journey
from tests.command_runs import api_with_a_clock

BINARY = Path(__file__).parents[2] / "dist/svc"


@pytest.fixture(autouse=True)
def _built() -> None:
    if not BINARY.exists():
        pytest.fail(f"{BINARY} does not exist; run make binary")


@pytest.mark.rule("X16")
async def test_binary_runs_whole_service(tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    program = Program(lambda environ: ["env", "-u", "PATH", f"TMPDIR={unpacked}", BINARY, "serve"])
    async with open_emulator(local_egress=True) as emulator:
        await journey(emulator, Place(program, tmp_path / "svc", {}))
    # No unpacked files may remain, although one of the runs was killed.
    assert list(unpacked.iterdir()) == []


def test_init_as_root_acts_as_owner_of_data_folder() -> None:
    """`svc init` checks the entered values as the data folder's owner, who must be able to read the unpacked files."""
    if os.geteuid() != 0:
        return  # only root can switch to another user
    # Do not use pytest's folder, because other users cannot access it.
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        data = place / "data"
        data.mkdir(mode=0o700)
        os.chown(data, 65_534, 65_534)
        result = subprocess.run(
            [BINARY, "init", "--yes", "--base-url", "https://svc.example.com", "--data", data],
            cwd=place, env={}, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert (result.returncode, "ok: sqlite works" in result.stdout) == (0, True), result.stdout + result.stderr
        assert {path.stat().st_uid for path in data.iterdir()} == {65_534}


def test_binary_has_version_licences_and_bundled_files(tmp_path: Path) -> None:
    own = {"SVC_EDGE_API_BASE_URL": api_with_a_clock()}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BINARY, *arguments], cwd=tmp_path, env=own, capture_output=True, text=True, check=False, timeout=60
        )

    assert run("--version").stdout == f"svc {version('svc')}\n"
    licences = run("licences").stdout
    names = re.findall(r"^([\w.-]+)==", (BINARY.parents[1] / "requirements.lock").read_text(), re.MULTILINE)
    installed = [one for one in distributions() if one.name.lower().replace("_", "-") in names]
    wanted = [f"{one.name} {one.version}" for one in installed]
    assert len(wanted) > 30
    wanted += [f"svc {version('svc')}", "Python 3.", "pyinstaller ", "isbot ", "preact "]
    assert [title for title in wanted if not re.search(rf"^{re.escape(title)}.*\n=+\n\n", licences, re.MULTILINE)] == []
    for name in ("operate/install.md", "operate/prometheus/svc.rules.yml", "operate/grafana/svc.json"):
        assert run("docs", name).stdout == (BINARY.parents[1] / "docs" / name).read_text()
    assert run("docs", "CHANGELOG").stdout.startswith("# Changelog\n")
    found = run("check").stdout
    assert "ok   worker bundle" in found
    assert "ok   web application" in found
    assert "ok   store" in found
