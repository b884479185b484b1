"""A release is complete, reproducible, and can be checked as docs/operate/verify.md explains."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest

from svc.api import openapi
from tests.artefacts.small_release import (
    CHANGELOG,
    LIBSSL,
    ROOT,
    VERSION,
    add_wheel,
    architecture,
    check,
    git,
    make_checkout,
    program_files,
    write,
)
from tests.operate.documents import blocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

sys.path.append(str(ROOT / "packaging"))  # scripts, which import each other by name
from components import IncompleteError, python_packages, runtime
from release_check import section_of
from sbom import problem_of

SUMS, SIGNATURE, BILL, REBUILD = (block.text for block in blocks("verify.md"))


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_key(tmp_path_factory.mktemp("key") / "publisher")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, key: Path) -> Path:
    """A checkout with a signed release in dist/svc-0.8.0."""
    checkout = make_checkout(tmp_path_factory.mktemp("built"))
    assert check(checkout, VERSION, key).stderr == ""
    written = write(checkout, VERSION, key)
    assert (written.returncode, written.stdout) == (0, f"{folder_of(checkout)}\n"), written.stderr
    return checkout


@pytest.fixture
def downloaded(built: Path, key: Path, tmp_path: Path) -> Path:
    """A copy of the release, with the publisher's public key."""
    folder = shutil.copytree(folder_of(built), tmp_path / "downloads")
    allow(folder, key)
    return folder


def folder_of(checkout: Path) -> Path:
    return checkout / f"dist/svc-{VERSION}"


def new_key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True)
    return path


def allow(folder: Path, key: Path) -> None:
    """Write the file with the trusted key, as docs/operate/verify.md shows."""
    page = (ROOT / "docs/operate/verify.md").read_text()
    [line] = re.findall(r"^svc namespaces=.*$", page, re.MULTILINE)
    public = key.with_name(f"{key.name}.pub").read_text().strip()
    (folder / "allowed_signers").write_text(line.replace("ssh-ed25519 AAAA…", public) + "\n")


def shell(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-euc", script], cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def validate(*bills: Path) -> subprocess.CompletedProcess[str]:
    """Run the validation that docs/operate/verify.md describes, in this checkout."""
    assert "`.venv/bin/python packaging/sbom.py`" in (ROOT / "docs/operate/verify.md").read_text()
    command: list[str | Path] = [sys.executable, "packaging/sbom.py", *bills]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.rule("Y11")
def test_documented_checks_accept_a_release_and_find_changes(downloaded: Path, tmp_path: Path) -> None:
    names = {path.name for path in downloaded.iterdir()} - {"SHA256SUMS", "SHA256SUMS.sig", "allowed_signers"}
    checked = shell(downloaded, SUMS)
    assert checked.returncode == 0
    assert set(checked.stdout.splitlines()) == {f"{name}: OK" for name in names}
    assert shell(downloaded, SIGNATURE).stdout.startswith('Good "file" signature for svc ')
    assert shell(downloaded, BILL).returncode == 0
    validated = validate(*sorted(downloaded.glob("*.cdx.json")))
    assert (validated.returncode, validated.stdout.count(": valid\n")) == (0, 5), validated.stderr

    # An attacker replaces a file, and later also the checksums.
    [package] = downloaded.glob("*.deb")
    package.write_bytes(package.read_bytes() + b"\0")
    assert f"{package.name}: FAILED" in shell(downloaded, SUMS).stdout
    assert shell(downloaded, SUMS).returncode != 0
    assert shell(downloaded, BILL).returncode != 0
    assert shell(downloaded, f"sha256sum {' '.join(sorted(names))} > SHA256SUMS").returncode == 0
    assert shell(downloaded, SUMS).returncode == 0
    assert "incorrect signature" in shell(downloaded, SIGNATURE).stderr
    assert shell(downloaded, SIGNATURE).returncode != 0
    # The attacker signs the checksums with another key, for the same or for another purpose.
    other = new_key(tmp_path / "other")
    for namespace, signer in (("file", other), ("git", other)):
        (downloaded / "SHA256SUMS.sig").unlink()
        shell(downloaded, f"ssh-keygen -q -Y sign -n {namespace} -f {signer} SHA256SUMS")
        assert (downloaded / "SHA256SUMS.sig").exists()
        assert shell(downloaded, SIGNATURE).returncode != 0
    # The publisher's signature for another purpose is not valid either.
    allow(downloaded, other)
    assert shell(downloaded, SIGNATURE).returncode != 0


@pytest.mark.rule("Y11")
def test_release_contains_every_artefact_unchanged(built: Path) -> None:
    folder, machine = folder_of(built), architecture()
    artefacts = {
        f"svc-{VERSION}-linux-{machine}": "svc",
        f"svc_{VERSION}_{machine}.deb": f"svc_{VERSION}_{machine}.deb",
        f"svc-{VERSION}-image-{machine}.tar": "svc-image.tar",
        f"svc-{VERSION}-py3-none-any.whl": f"svc-{VERSION}-py3-none-any.whl",
    }
    for name, source in artefacts.items():
        assert (folder / name).read_bytes() == (built / "dist" / source).read_bytes()
    bundle = f"svc-{VERSION}-worker.tar.gz"
    others = ("licences.txt", "notes.md", "openapi.json", "requirements.lock")
    expected = {
        *artefacts,
        bundle,
        *(f"{name}.cdx.json" for name in (*artefacts, bundle)),
        *(f"svc-{VERSION}-{name}" for name in others),
        *("SHA256SUMS", "SHA256SUMS.sig"),
    }
    assert {path.name for path in folder.iterdir()} == expected
    with tarfile.open(folder / bundle) as archive:
        assert archive.getnames() == [f"svc-{VERSION}-worker/{name}" for name in ("manifest.json", "svc-edge.js")]
        file = archive.extractfile(f"svc-{VERSION}-worker/svc-edge.js")
        assert file is not None
        assert file.read() == b"the content of svc-edge.js"
    assert (
        folder / f"svc-{VERSION}-notes.md"
    ).read_text() == f"# svc {VERSION}\n\nThe first release.\n\n- It counts.\n"
    described = json.loads((folder / f"svc-{VERSION}-openapi.json").read_text())
    assert described == json.loads(json.dumps(openapi.document("https://svc.example")))
    licences = (folder / f"svc-{VERSION}-licences.txt").read_bytes()
    assert licences == program_files()["svc/licences.txt"]
    lock = (folder / f"svc-{VERSION}-requirements.lock").read_text()
    assert lock == (built / "requirements.lock").read_text()


def bill_of(checkout: Path, ending: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the bill of materials of the artefact whose name ends with `ending`, and its components by purl (package
    URL).
    """
    [path] = folder_of(checkout).glob(f"*{ending}.cdx.json")
    bill = json.loads(path.read_text())
    return bill, {each["purl"]: each for each in bill["components"]}


@pytest.mark.rule("Y11")
def test_bill_lists_bundled_components_with_version_licence_and_hash(built: Path) -> None:
    bill, components = bill_of(built, ".deb")
    assert bill["metadata"]["timestamp"].startswith("2026-09-21T")  # the time of the commit
    assert bill["metadata"]["component"]["version"] == VERSION
    plain = components["pkg:pypi/plain-name@1.0"]
    assert plain["licenses"] == [{"expression": "MIT OR Apache-2.0"}]
    wheel = built / "build/image/wheelhouse/Plain_Name-1.0-py3-none-any.whl"
    assert plain["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}]
    assert components["pkg:pypi/classed@2.1"]["licenses"] == [{"license": {"name": "BSD License"}}]
    assert "pkg:pypi/pyinstaller@6.22.3" in components
    assert not [url for url in components if "newer" in url or "/svc@" in url]
    python = components["pkg:generic/python@3.11.7"]
    assert (python["version"], python["licenses"]) == ("3.11.7", [{"license": {"id": "PSF-2.0"}}])
    library = components[LIBSSL]
    assert library["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    assert {each["name"]: each["hashes"][0]["content"] for each in [*library["components"], *python["components"]]} == {
        name: hashlib.sha256(program_files()[name]).hexdigest()
        for name in ("libssl.so.3", "libcrypto.so.3", "libpython3.11.so.1.0")
    }
    assert components["pkg:generic/libother.so.1"]["components"][0]["name"] == "libother.so.1"
    assert {ref for each in bill["dependencies"] for ref in each.get("dependsOn", [])} == {
        each["bom-ref"] for each in bill["components"]
    }


@pytest.mark.rule("Y11")
@pytest.mark.parametrize(
    ("ending", "folders"), [("worker.tar.gz", ["edge_worker"]), (".whl", ["edge_worker", "svc/web"])]
)
def test_bill_lists_the_javascript_packages_that_are_not_for_development(built: Path, ending: str, folders: list[str]):
    _, components = bill_of(built, ending)
    bundled: dict[str, dict[str, str]] = {}
    for folder in folders:
        named = json.loads((ROOT / folder / "package.json").read_text())["dependencies"]
        locked = json.loads((ROOT / folder / "package-lock.json").read_text())["packages"]
        bundled |= {name: locked[f"node_modules/{name}"] for name in named}
    found = {
        "/".join(filter(None, (each.get("group"), each["name"]))): each
        for url, each in components.items()
        if "npm/" in url
    }
    assert set(found) == set(bundled)
    for name, each in found.items():
        digest = base64.b64decode(bundled[name]["integrity"].removeprefix("sha512-")).hex()
        assert each["version"] == bundled[name]["version"]
        assert each["hashes"] == [{"alg": "SHA-512", "content": digest}]
        assert each["licenses"] == [{"license": {"id": "MIT"}}] or name == "isbot"
    assert ("pkg:pypi/classed@2.1" in components) == (ending == ".whl")
    assert not [url for url in components if "pyinstaller" in url or "python@" in url]


@pytest.mark.rule("Y11")
def test_bill_of_image_lists_the_base_image(built: Path) -> None:
    bill, components = bill_of(built, ".tar")
    assert bill["metadata"]["component"]["type"] == "container"
    base = components["pkg:deb/debian/base-files@12.4%2Bdeb12u1?arch=amd64"]
    assert base["licenses"] == [{"license": {"name": "GPL-2+"}}]
    assert not [url for url in components if "removed" in url]
    [file] = [each for each in components[LIBSSL]["components"] if each["name"] == "libssl.so.3"]
    assert file["hashes"][0]["content"] == hashlib.sha256(b"the content of libssl.so.3").hexdigest()


def test_two_releases_of_the_same_files_are_identical(built: Path, tmp_path: Path) -> None:
    other = make_checkout(tmp_path / "another-name")
    broken = tmp_path / "broken"
    broken.write_text("not a key")
    broken.chmod(0o600)
    refused = write(other, VERSION, broken)
    assert refused.returncode == 1
    assert refused.stderr.startswith("make release: ssh-keygen cannot sign with ")
    written = write(other, VERSION)
    assert written.returncode == 0, written.stderr
    first, second = ({path.name: path.read_bytes() for path in folder_of(root).iterdir()} for root in (built, other))
    assert "SHA256SUMS.sig" not in second
    del first["SHA256SUMS.sig"]
    assert [name for name in first if first[name] != second.get(name)] == []
    assert set(first) == set(second)


@pytest.mark.parametrize(
    "change",
    [{"components": [{"type": "library"}]}, {"specVersion": "1.9"}, {"unknown": 1}, {"bomFormat": "SPDX"}],
    ids=str,
)
def test_invalid_bill_is_reported(built: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    [path] = folder_of(built).glob("*.deb.cdx.json")
    assert problem_of(path) is None
    changed = tmp_path / path.name
    changed.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert problem_of(changed) is not None


def add_to_section(checkout: Path, title: str) -> None:
    text = CHANGELOG.replace(f"## {title}\n", f"## {title}\n\n- Something.\n")
    commit(checkout, "CHANGELOG.md", text)


def commit(checkout: Path, name: str, text: str) -> None:
    (checkout / name).write_text(text)
    git(checkout, "commit", "--quiet", "--all", "--message", "Change")


def tag_previous(checkout: Path) -> None:
    git(checkout, "tag", f"v{VERSION}")
    commit(checkout, "LICENSE", "another licence")


def set_package_version(checkout: Path) -> None:
    path = checkout / "svc/web/package.json"
    commit(checkout, "svc/web/package.json", path.read_text().replace(f'"{VERSION}"', '"0.7.9"', 1))


@pytest.mark.rule("Y11")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda root: (root / "LICENSE").write_text("x"), "the checkout has changes, such as LICENSE"),
        (lambda root: (root / "new.py").write_text(""), "the checkout has changes, such as new.py"),
        (set_package_version, "svc/web/package.json has version 0.7.9, not 0.8.0"),
        (lambda root: commit(root, "CHANGELOG.md", "# Changelog\n\n## 0.8.1\n\nText\n"), "has no section 0.8.0"),
        (lambda root: add_to_section(root, "Unreleased"), "CHANGELOG.md has unreleased changes"),
        (tag_previous, "the tag v0.8.0 points to another commit"),
        (lambda root: shutil.rmtree(root / ".git"), "git status failed"),
    ],
    ids=["changed", "untracked", "package.json", "no section", "unreleased", "tag", "no git"],
)
def test_release_of_another_state_is_refused(tmp_path: Path, change: Callable[[Path], object], reason: str) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    assert check(checkout, VERSION).returncode == 0
    change(checkout)
    said = check(checkout, VERSION)
    assert said.returncode == 1
    assert said.stderr.startswith("make release: ")
    assert reason in said.stderr
    assert said.stderr.count("\n") == 1


@pytest.mark.parametrize("wanted", ["", "v0.8.0"])
def test_make_release_of_another_version_is_refused_before_the_build(wanted: str) -> None:
    said = subprocess.run(
        ["make", f"PYTHON={sys.executable}", "release", f"VERSION={wanted}"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert said.returncode != 0
    first = said.stderr.splitlines()[0]
    assert first.startswith(f"make release: pyproject.toml has version {version('svc')}, not '{wanted}'")
    assert "binary" not in said.stdout


def test_wheel_that_is_missing_or_not_locked_is_refused(built: Path, tmp_path: Path) -> None:
    lock = (built / "requirements.lock").read_text()
    wheels = shutil.copytree(built / "build/image/wheelhouse", tmp_path / "wheels")
    assert {each.name for each in python_packages(lock, wheels)} == {"plain-name", "classed"}
    add_wheel(wheels, "classed", "2.1", "License: MIT")
    with pytest.raises(
        IncompleteError, match=r"^classed-2\.1-py3-none-any\.whl is not the file in requirements\.lock$"
    ):
        list(python_packages(lock, wheels))
    (wheels / "classed-2.1-py3-none-any.whl").unlink()
    with pytest.raises(IncompleteError, match=r"has no wheel of classed$"):
        list(python_packages(lock, wheels))


def test_library_of_the_inventory_that_is_missing_is_refused() -> None:
    program = program_files()
    del program["libssl.so.3"]
    with pytest.raises(IncompleteError, match=r"^the program has no libssl\.so\.3, which its inventory lists$"):
        list(runtime(program))


def test_artefact_that_was_not_built_is_refused(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    (checkout / "dist/svc-image.tar").unlink()
    said = write(checkout, VERSION)
    assert said.returncode == 1
    assert said.stderr == "make release: dist/svc-image.tar was not built: run make binary wheel deb image\n"


@pytest.mark.parametrize("heading", ["## 1.0.0", "## 1.0.0 (2026-12-01)"])
def test_section_of_changelog_ends_at_next_version(heading: str) -> None:
    text = f"# Changelog\n\n## 1.0.0-rc1\n\nNot this.\n\n{heading}\n\n### Added\n\n- A\n\n## 0.9.0\n\n- B\n"
    assert section_of(text, "1.0.0") == "### Added\n\n- A"
    assert section_of(text, "0.9.0") == "- B"
    assert section_of(text, "1.0") == section_of(text, "Unreleased") == ""


def test_versions_in_documentation_are_current() -> None:
    page = (ROOT / "docs/operate/verify.md").read_text()
    assert set(re.findall(r"\b\d+\.\d+\.\d+\b", page)) == {version("svc")} == {VERSION}
    assert f"make release VERSION={VERSION}" in REBUILD
