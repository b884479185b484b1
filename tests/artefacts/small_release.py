"""A checkout with small artefacts, from which tests can assemble a release within seconds."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSION = "0.8.0"
_SCRIPTS = ("build.py", "components.py", "image_archive.py", "licences.py", "release.py", "release_check.py", "sbom.py")
_COPIED = ("pyproject.toml", "LICENSE", ".gitignore", *(f"packaging/{name}" for name in _SCRIPTS))
_LOCKS = (
    "edge_worker/package.json",
    "edge_worker/package-lock.json",
    "svc/web/package.json",
    "svc/web/package-lock.json",
)
CHANGELOG = (
    f"# Changelog\n\n## Unreleased\n\n## {VERSION}\n\nThe first release.\n\n- It counts.\n\n## 0.7.0\n\nOlder.\n"
)
LIBSSL = "pkg:deb/debian/libssl3@3.0.19-1~deb12u2?arch=amd64&distro=debian-12"
_INVENTORY = {
    "python": "3.11.7",
    "pyinstaller": "6.22.3",
    "libraries": {"libssl.so.3": LIBSSL, "libcrypto.so.3": LIBSSL, "libother.so.1": None},
}
_LICENCES = "svc 0.8.0\n=========\n\nMIT\n\nlibssl3\n=======\n\nFiles: *\nLicense: Apache-2.0\n\nother\n=====\n\nText\n"
_STATUS = """\
Package: base-files
Status: install ok installed
Architecture: amd64
Version: 12.4+deb12u1

Package: removed
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""


def make_checkout(root: Path) -> Path:
    """Create a checkout with the built files in `root`, commit its files, and return it."""
    for name in (*_COPIED, *_LOCKS):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    (root / "CHANGELOG.md").write_text(CHANGELOG)
    for folder in ("dist", "svc/bundle", "build/image/wheelhouse", "build/svc/_internal/svc"):
        (root / folder).mkdir(parents=True)
    wheels = root / "build/image/wheelhouse"
    plain = add_wheel(wheels, "Plain_Name", "1.0", "License-Expression: MIT OR Apache-2.0")
    classed = add_wheel(
        wheels, "classed", "2.1", "License: long\n text\nClassifier: License :: OSI Approved :: BSD License"
    )
    add_wheel(wheels, "pyinstaller", "6.22.3", "License: GPLv2-or-later with a special exception")
    add_wheel(wheels, "svc", VERSION, "License-Expression: MIT")
    other = "0" * 64
    (root / "requirements.lock").write_text(
        f"classed==2.1 \\\n    --hash=sha256:{other} \\\n    --hash=sha256:{classed}\n"
        f"newer==3 ; python_full_version >= '3.99' \\\n    --hash=sha256:{other}\n"
        f"plain-name==1.0 ; python_full_version < '3.99' \\\n    --hash=sha256:{plain}\n"
    )
    program = program_files()
    for name, content in program.items():
        (root / "build/svc/_internal" / name).write_bytes(content)
    for name in ("svc", f"svc_{VERSION}_{architecture()}.deb", f"svc-{VERSION}-py3-none-any.whl"):
        (root / "dist" / name).write_bytes(f"the content of {name}".encode())
    (root / "dist/svc-image.tar").write_bytes(_image(program))
    for name in ("svc-edge.js", "manifest.json"):
        (root / "svc/bundle" / name).write_text(f"the content of {name}")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Release")
    return root


def check(checkout: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run packaging/release_check.py in a checkout."""
    return _run(checkout, "release_check.py", *arguments)


def write(checkout: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run packaging/release.py in a checkout."""
    return _run(checkout, "release.py", *arguments)


def _run(checkout: Path, script: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, checkout / "packaging" / script, *arguments]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False, timeout=120)


def git(root: Path, *arguments: str) -> str:
    """Run git in a checkout with a fixed author and time, and without this machine's settings. Return the output."""
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        **{f"GIT_{who}_{what}": "svc" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        **{f"GIT_{who}_DATE": "1790000000 +0000" for who in ("AUTHOR", "COMMITTER")},
    }
    done = subprocess.run(["git", *arguments], cwd=root, env=environ, capture_output=True, text=True, check=True)
    return done.stdout


def program_files() -> dict[str, bytes]:
    """Return the files of a program, by their path in PyInstaller's folder."""
    libraries = ("libpython3.11.so.1.0", *_INVENTORY["libraries"])
    return {
        **{name: f"the content of {name}".encode() for name in libraries},
        "svc/inventory.json": json.dumps(_INVENTORY).encode(),
        "svc/licences.txt": _LICENCES.encode(),
    }


def add_wheel(folder: Path, name: str, version: str, headers: str) -> str:
    """Write a wheel without code, and return its SHA-256. `headers`: additional lines of its metadata."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        metadata = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n{headers}\n"
        archive.writestr(zipfile.ZipInfo(f"{name}-{version}.dist-info/METADATA"), metadata)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def architecture() -> str:
    """Return Debian's name for this machine's architecture, from the script that builds the packages."""
    code = "from build import ARCHITECTURE; print(ARCHITECTURE)"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT / "packaging", capture_output=True, text=True, check=True).stdout.strip()


def _image(program: dict[str, bytes]) -> bytes:
    """Return an archive for `docker load` with two layers: the base image and the program."""
    base = {
        "var/lib/dpkg/status": _STATUS.encode(),
        "usr/share/doc/base-files/copyright": b"License: GPL-2+\n",
        "usr/lib/svc/_internal/libssl.so.3": b"an older file, which the second layer replaces",
    }
    layers = [tar_of(base), tar_of({f"usr/lib/svc/_internal/{name}": content for name, content in program.items()})]
    manifest = [{"Config": "config.json", "Layers": [f"{number}.tar" for number in range(len(layers))]}]
    files = {f"{number}.tar": layer for number, layer in enumerate(layers)}
    return tar_of({**files, "manifest.json": json.dumps(manifest).encode()})


def tar_of(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()
