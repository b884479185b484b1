"""`dist/svc`, which `make binary` has built, as somebody runs it who has fetched it and nothing else."""

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

BINARY = Path(__file__).parents[2] / "dist/svc"


@pytest.fixture(autouse=True)
def _built() -> None:
    if not BINARY.exists():
        pytest.fail(f"{BINARY} is not there; make test builds it, and so does make binary")


@pytest.mark.rule("X16")
async def test_one_file_runs_the_whole_service(tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    program = Program(lambda environ: ["env", "-u", "PATH", f"TMPDIR={unpacked}", BINARY, "serve"])
    async with open_emulator(local_egress=True) as emulator:
        await journey(emulator, Place(program, tmp_path / "svc", {}))
    # Neither the end nor the kill of what was started has left anything of it.
    assert list(unpacked.iterdir()) == []


def test_as_root_it_is_set_up_for_the_user_whose_the_data_is() -> None:
    """It tries its answers as that user, who has to be able to read what the binary has unpacked."""
    if os.geteuid() != 0:
        return  # only root can be another user
    # Not in pytest's folder, which every run on the machine closes to other users.
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        data = place / "data"
        data.mkdir(mode=0o700)
        os.chown(data, 65_534, 65_534)
        made = subprocess.run(
            [BINARY, "init", "--yes", "--base-url", "https://svc.example.com", "--data", data],
            cwd=place, env={}, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert (made.returncode, "ok: sqlite answers" in made.stdout) == (0, True), made.stdout + made.stderr
        assert {path.stat().st_uid for path in data.iterdir()} == {65_534}


def test_it_tells_its_version_and_finds_what_it_brings(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BINARY, *arguments], cwd=tmp_path, env={}, capture_output=True, text=True, check=False, timeout=60
        )

    assert run("--version").stdout == f"svc {version('svc')}\n"
    # The texts of the licences of all that is in it.
    told = run("licences").stdout
    names = re.findall(r"^([\w.-]+)==", (BINARY.parents[1] / "requirements.lock").read_text(), re.MULTILINE)
    here = [one for one in distributions() if one.name.lower().replace("_", "-") in names]
    wanted = [f"{one.name} {one.version}" for one in here]
    assert len(wanted) > 30
    wanted += [f"svc {version('svc')}", "Python 3.", "pyinstaller ", "isbot ", "preact "]
    assert [title for title in wanted if not re.search(rf"^{re.escape(title)}.*\n=+\n\n", told, re.MULTILINE)] == []
    found = run("check").stdout
    assert "ok   worker bundle" in found
    assert "ok   web application" in found
    assert "ok   store" in found
