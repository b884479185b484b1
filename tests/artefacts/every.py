"""`make artefacts`: install and test each artefact as documented, and check that builds are reproducible.

These tests need root to create root file systems, mounts and containers. `make test` therefore tests only the binary.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from edge_worker.emulator.process import open_emulator
from edge_worker.harness.service import Program
from tests.artefacts.journey import PASSWORD, Place, journey
from tests.artefacts.places import PLACES, ROOT, container, in_tree, missing_tools, new_tree, run, shell, stand_in
from tests.operate.documents import blocks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from edge_worker.emulator.client import Emulator

DIST = ROOT / "dist"
BLOCKS = {
    block.name: block.text
    for name in ("install.md", "first-start.md", "uninstall.md", "verify.md")
    for block in blocks(name)
}
# Each test takes up to two minutes on an idle machine.
pytestmark = pytest.mark.timeout(1_800)
# The newest glibc version that the binary may require.
_MAX_GLIBC = (2, 34)


@pytest.fixture(scope="session", autouse=True)
def second_build(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """Build all artefacts. Then build them again while the tests run, from a copy of the checkout without built files.

    Yield the folder and the process of the second build. The build's log is the file `output` in that folder.
    """
    if problem := missing_tools():
        pytest.exit(problem, returncode=1)
    for artefact in DIST.glob("svc[-_]*"):
        shutil.rmtree(artefact) if artefact.is_dir() else artefact.unlink()
    run(*build(ROOT), **_images())
    folder = tmp_path_factory.mktemp("second") / "another-name"
    folder.mkdir()
    files = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    packing = ["tar", "--create", "--null", "--files-from=-"]
    packed = subprocess.run(packing, cwd=ROOT, input=files.encode(), stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "--extract", "--directory", folder], input=packed.stdout, check=True)
    environ = {**os.environ, **_images(), "SOURCE_DATE_EPOCH": run("git", "log", "-1", "--format=%ct").strip()}
    with (
        (folder / "output").open("w") as output,
        subprocess.Popen(build(folder), env=environ, stdout=output, stderr=output, start_new_session=True) as process,
    ):
        yield folder, process
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
    shutil.rmtree(folder.parent)


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with open_emulator(local_egress=True) as running:
        yield running


@pytest.fixture
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for installations, outside the test's own folder.

    The test's own folder cannot be used: it is searched for secrets, and the installed documents contain invented ones.
    """
    folder = tmp_path_factory.mktemp("installed")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def tree(installed: Path) -> Path:
    """The root file system of a fresh Debian installation."""
    return new_tree(installed / "root")


def build(folder: Path) -> list[str | Path]:
    """Return the command that builds all artefacts of a checkout."""
    return ["make", f"PYTHON={sys.executable}", "--directory", folder, "binary", "wheel", "deb", "image"]


def _images() -> dict[str, str]:
    """Return the settings that make the build use local base images."""
    return {"SVC_IMAGE_PYTHON": stand_in("python"), "SVC_IMAGE_SYSTEM": stand_in("system")}


async def test_binary_runs_on_debian_without_python(tree: Path, emulator: Emulator) -> None:
    assert not list(tree.glob("usr/bin/python*"))
    shutil.copy(DIST / "svc", tree / "root/svc-0.8.0-linux-amd64")
    assert shell(tree, BLOCKS["sudo install -m 755 svc-*-linux-amd64 /usr/local/bin/svc"]).startswith("svc 0.")
    first_start = BLOCKS["mkdir -p ~/svc-data && cd ~/svc-data"]
    assert "ok   worker bundle" in shell(tree, "HOME=/root\n" + first_start.removesuffix("svc serve\n"))
    folder = tree / "home/somebody"
    folder.mkdir()
    os.chown(folder, 1000, 1000)
    inside = ("sqlite:////home/somebody/svc.db", "/home/somebody/vault.key", "/home/somebody/mail")
    program = in_tree(tree, "1000:1000", "/usr/local/bin/svc", "serve")
    await journey(emulator, Place(program, folder, dict(zip(PLACES, inside, strict=True))))
    assert not list((tree / "tmp").iterdir())  # the unpacked files were removed, although one run was killed
    shell(tree, "HOME=/root\n" + BLOCKS["sudo rm /usr/local/bin/svc"])
    assert not (tree / "usr/local/bin/svc").exists()
    assert not (tree / "root/svc-data").exists()


def test_unusable_temporary_folder_fails_with_documented_message(tree: Path) -> None:
    shutil.copy(DIST / "svc", tree / "usr/local/bin/svc")
    rows = re.findall(r"^\| (`.+?) \|", (ROOT / "docs/operate/install.md").read_text(), re.MULTILINE)
    documented = [[*re.findall("`(.+?)`", row)] for row in rows]
    remedy = BLOCKS["mkdir -p ~/svc-data/run && cd ~/svc-data"].replace("svc serve", "svc --version")
    for options, words in (("noexec", documented[0]), ("size=8m", documented[1])):
        mounted = f"mount -t tmpfs -o {options} tmpfs {tree}/tmp; exec chroot {tree} env HOME=/root sh -c"
        isolated = ("unshare", "--mount", "sh", "-euc", mounted + ' "$1"', "sh")
        refused = subprocess.run([*isolated, "svc --version"], capture_output=True, text=True, check=False)
        assert refused.returncode != 0
        assert [each for each in words if each in refused.stderr], refused.stderr
        assert run(*isolated, remedy).startswith("svc 0.")


async def test_package_runs_on_fresh_debian(tree: Path, emulator: Emulator) -> None:
    [package] = DIST.glob("*.deb")
    shutil.copy(package, tree / "root")
    shell(tree, BLOCKS["sudo apt-get install ./svc_*.deb"])
    licences = shell(tree, "svc licences")
    assert licences == (tree / "usr/share/doc/svc/copyright").read_text()
    assert "library of the build system" not in licences
    documents = tree / "usr/share/doc/svc"
    assert (documents / "operate/README.md").exists()
    changelog = gzip.decompress((documents / "changelog.gz").read_bytes()).decode()
    assert changelog == shell(tree, "svc docs CHANGELOG")
    shell(tree, BLOCKS["svc docs"])
    excluded = ("--exclude=CHANGELOG.md", "--exclude=changelog.gz", "--exclude=copyright")
    assert run("diff", "--recursive", *excluded, tree / "root/svc-docs", documents) == ""
    shell(tree, BLOCKS["sudo svc init --yes --replace --config /etc/svc/config.toml \\"])
    api = f"export SVC_EDGE_API_BASE_URL={emulator.api}\n"
    assert "FAIL" not in shell(tree, api + BLOCKS["sudo -u svc svc check --config /etc/svc/config.toml"])
    add = BLOCKS["sudo -u svc svc user add you@example.com --confirmed --config /etc/svc/config.toml"]
    shell(
        tree,
        add.replace(" --config", " --password-stdin --config").replace("sudo -u", f"echo '{PASSWORD}' | sudo -u"),
    )
    owners = shell(tree, "stat -c '%U:%G %a' /etc/svc/config.toml /var/lib/svc /var/lib/svc/svc.db").splitlines()
    assert owners[:2] == ["root:svc 640", "svc:svc 700"]
    assert owners[2].startswith("svc:svc ")
    # Start the service with the command of the systemd unit, and with the paths in the package's configuration.
    unset = [word for name in PLACES for word in ("-u", name)]
    unit = (tree / "usr/lib/systemd/system/svc.service").read_text()
    [serve] = re.findall(r"^ExecStart=(.+)$", unit, re.MULTILINE)
    program = in_tree(tree, "svc:svc", "env", *unset, *serve.split())
    await journey(emulator, Place(program, tree / "var/lib/svc", {}, has_user=True))
    (tree / "etc/svc/vault.key").write_text("a key that the operator has moved here")
    shell(tree, BLOCKS["sudo apt-get purge svc"].replace("purge", "purge --yes"))
    assert (tree / "var/lib/svc/svc.db").exists()
    assert [path.name for path in (tree / "etc/svc").iterdir()] == ["vault.key"]
    assert not (tree / "usr/lib/svc").exists()
    changes = tree / "etc/systemd/system/svc.service.d"
    changes.mkdir(parents=True)
    (changes / "override.conf").write_text("[Service]\nNice=1\n")
    uid = str((tree / "var/lib/svc").stat().st_uid)
    shell(tree, BLOCKS["sudo rm -rf /var/lib/svc /etc/svc"])
    remaining = ("find", tree, "-xdev", "(", "-name", "svc", "-o", "-name", "svc[.-]*", "-o", "-uid", uid, ")")
    assert [path for path in run(*remaining).splitlines() if not path.startswith(f"{tree}/root/")] == []
    assert "svc" not in (tree / "etc/passwd").read_text() + (tree / "etc/group").read_text()


async def test_image_runs_under_runc(installed: Path, tmp_path: Path, emulator: Emulator) -> None:
    place = container(installed, tmp_path / "data")
    licences = (installed / "bundle/rootfs/usr/lib/svc/_internal/svc/licences.txt").read_text()
    assert re.findall("^(?:svc|Python|pyinstaller|preact) [0-9.]+\n=", licences, re.MULTILINE)
    root = installed / "bundle/rootfs"
    documents = (root / "usr/share/doc/svc").readlink()
    assert (root / "usr/share/doc" / documents / "operate/install.md").exists()
    await journey(emulator, place)


async def test_wheel_runs_in_empty_environment(installed: Path, tmp_path: Path, emulator: Emulator) -> None:
    [wheel] = DIST.glob("*.whl")
    shutil.copy(wheel, installed)
    # Use only the packages in the image's wheelhouse, so that nothing comes from this environment.
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(ROOT / "build/image/wheelhouse")}
    script = BLOCKS["python3 -m venv svc-environment"].replace("python3", sys.executable, 1)
    assert run("sh", "-euc", f"cd {installed}\n{script}", **offline).splitlines()[-1].startswith("svc 0.")
    program = Program(lambda environ: [installed / "svc-environment/bin/svc", "serve"])
    await journey(emulator, Place(program, tmp_path / "svc", {}))
    run("sh", "-euc", f"cd {installed}\n{BLOCKS['rm -r svc-environment']}")
    assert [path.suffix for path in installed.iterdir()] == [".whl"]


def test_no_file_requires_newer_glibc() -> None:
    required: dict[tuple[int, int], list[str]] = {}
    for path in [DIST / "svc", *(ROOT / "build/svc").rglob("*")]:
        if path.is_file() and _magic(path) == b"\x7fELF":
            for version in re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", path)):
                required.setdefault((int(version[0]), int(version[1])), []).append(path.name)
    assert required
    assert {version: set(names) for version, names in required.items() if version > _MAX_GLIBC} == {}


def _magic(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def test_builds_in_two_folders_are_identical(second_build: tuple[Path, subprocess.Popen[bytes]]) -> None:
    """The folder of the second build has a different name, a separate environment, and no files of the first build."""
    folder, process = second_build
    assert process.wait() == 0, (folder / "output").read_text()
    first, second = digests(DIST), digests(folder / "dist")
    for name in sorted(first):
        print(f"{first[name]}  {name}  {'same' if second.get(name) == first[name] else 'DIFFERS'}")
    assert first == second


@pytest.mark.rule("Y11")
def test_releases_of_two_builds_are_identical(
    second_build: tuple[Path, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    """Assemble a release from each build, and check the first release as docs/operate/verify.md explains."""
    folder, process = second_build
    assert process.wait() == 0
    epoch = run("git", "log", "-1", "--format=%ct").strip()
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key")
    written = run(sys.executable, "packaging/release.py", version("svc"), tmp_path / "key", SOURCE_DATE_EPOCH=epoch)
    first = Path(written.strip())
    (first / "allowed_signers").write_text(f"svc {(tmp_path / 'key.pub').read_text()}")
    for block in blocks("verify.md")[:3]:  # all commands except those for the new build
        run("sh", "-euc", f"cd {first}\n{block.text}")
    (first / "allowed_signers").unlink()
    release = f"{folder}/.venv/bin/python packaging/release.py {version('svc')}"
    again = BLOCKS["git checkout v0.8.0"].replace("git checkout v0.8.0\n", "").replace("~/Downloads", str(first))
    again = again.replace(f"make release VERSION={version('svc')}", release)
    print(run("sh", "-euc", f"cd {folder}\n{again}", SOURCE_DATE_EPOCH=epoch))

    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    for pattern in ("*-linux-*", "*.deb", "*-image-*"):
        [bill] = first.glob(f"{pattern}.cdx.json")
        found = json.loads(bill.read_text())["components"]
        assert locked <= {each["name"] for each in found}
        assert {"isbot", "preact", "signals", "pyinstaller", "python", "libssl3"} <= {each["name"] for each in found}
        for each in found:
            assert each["licenses"], each
            assert each["version"], each
            assert ("hashes" in each or "components" in each) or (
                each["purl"].startswith("pkg:deb/") and "image" in bill.name
            )
        assert [each["purl"] for each in found if "pkg:generic/" in each["purl"] and each["name"] != "python"] == []


def digests(dist: Path) -> dict[str, str]:
    """Return the digests of the files."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in dist.iterdir() if path.is_file()}
