"""The components of the artefacts, for their bills of materials: libraries, Python, and packages of the base image."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tarfile
import zipfile
from email.parser import HeaderParser
from typing import TYPE_CHECKING

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.component import Component, ComponentType
from image_archive import open_member
from packageurl import PackageURL
from packaging.markers import Marker

from licences import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from cyclonedx.model.license import License

# The files of a program in PyInstaller's folder `_internal`, by their path there.
Program = dict[str, bytes]
_INTERNAL = "usr/lib/svc/_internal/"
_INVENTORY, _LICENCES = "svc/inventory.json", "svc/licences.txt"
_DPKG_STATUS = "var/lib/dpkg/status"
_COPYRIGHT = re.compile(r"usr/share/doc/([^/]+)/copyright")
# An entry of a lock file: name, version, marker, and the hashes of the files that may be installed.
_LOCKED = re.compile(r"^([\w.-]+)==(\S+)(?: ; (.+?))? \\\n((?:    --hash=\S+(?: \\)?\n?)+)", re.MULTILINE)
_SEE_TEXTS = "see the licence texts of the release"


class IncompleteError(Exception):
    """Raised if a component is missing or differs from its lock file. The argument names the component."""


def python_packages(lock: str, wheels: Path, also: Iterable[str] = ()) -> Iterator[Component]:
    """Yield a component for each package that the lock file selects for this Python.

    `lock`: the text of the lock file. `wheels`: a folder with the wheels of these packages, from which the licences and
    hashes are read. `also`: normalized names of packages in the folder that the lock file need not contain. Raises
    IncompleteError if a wheel is missing, or its hash is not in the lock file.
    """
    locked = {(plain(name), version): hashes for name, version, _, hashes in _LOCKED.findall(lock)}
    missing = {plain(name) for name, _, marker, _ in _LOCKED.findall(lock) if not marker or Marker(marker).evaluate()}
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            [metadata] = [name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
            headers = HeaderParser().parsestr(archive.read(metadata).decode())
        name, version = plain(headers["Name"]), headers["Version"]
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if (name, version) in locked and f"--hash=sha256:{digest}" not in locked[name, version]:
            raise IncompleteError(f"{wheel.name} is not the file in requirements.lock")
        if (name, version) in locked or name in also:
            missing.discard(name)
            classes = [text for text in headers.get_all("Classifier") or [] if text.startswith("License ::")]
            named = headers["License-Expression"] or _short(headers["License"]) or _last_words(classes)
            yield _component(PackageURL("pypi", None, name, version), named, {"SHA-256": digest})
    if missing:
        raise IncompleteError(f"{wheels} has no wheel of {', '.join(sorted(missing))}")


def _short(licence: str | None) -> str:
    """Return the name of a licence, or "" if the field contains the whole text."""
    return licence if licence and "\n" not in licence and len(licence) < 60 else ""


def _last_words(classes: Iterable[str]) -> str:
    return " OR ".join(text.rpartition(" :: ")[2] for text in classes)


def javascript_packages(lock: str) -> Iterator[Component]:
    """Yield a component for each package in a package-lock.json, except packages for development only."""
    for path, entry in json.loads(lock)["packages"].items():
        if path and not entry.get("dev"):
            namespace, _, name = path.rpartition("node_modules/")[2].rpartition("/")
            algorithm, _, digest = entry["integrity"].partition("-")
            hashes = {f"SHA-{algorithm.removeprefix('sha')}": base64.b64decode(digest).hex()}
            yield _component(PackageURL("npm", namespace or None, name, entry["version"]), entry["license"], hashes)


def bundled_loader(program: Program) -> dict[str, str]:
    """Return the names and versions of the PyInstaller packages whose code is in the program."""
    found = json.loads(program[_INVENTORY])
    return {name: found[name] for name in found if name.startswith("pyinstaller")}


def runtime(program: Program) -> Iterator[Component]:
    """Yield a component for Python, and one for each Debian package whose libraries are in the program.

    The files of a component are nested components with hashes. Raises IncompleteError if a file of the inventory is
    missing.
    """
    inventory = json.loads(program[_INVENTORY])
    python = _component(PackageURL("generic", None, "python", inventory["python"]), "PSF-2.0")
    python.cpe = f"cpe:2.3:a:python:python:{inventory['python']}:*:*:*:*:*:*:*"
    python.components.update(_file(python, name, program) for name in program if name.startswith("libpython"))
    yield python
    files_of: dict[str, list[str]] = {}
    for name, url in inventory["libraries"].items():
        files_of.setdefault(url or f"pkg:generic/{name}", []).append(name)
    texts = program[_LICENCES].decode()
    for url, names in sorted(files_of.items()):
        package = PackageURL.from_string(url)
        library = _component(package, _licences_in(_section(texts, package.name)))
        library.components.update(_file(library, name, program) for name in names)
        yield library


def _file(owner: Component, name: str, program: Program) -> Component:
    if name not in program:
        raise IncompleteError(f"the program has no {name}, which its inventory lists")
    digest = HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(program[name]).hexdigest())
    return Component(name=name, type=ComponentType.FILE, bom_ref=f"{owner.bom_ref.value}#{name}", hashes=[digest])


def program_in_folder(internal: Path) -> Program:
    """Return the program in a folder that PyInstaller has written. `internal`: its folder `_internal`."""
    paths = [path for path in internal.iterdir() if path.is_file()] + [internal / _INVENTORY, internal / _LICENCES]
    return {path.relative_to(internal).as_posix(): path.read_bytes() for path in paths}


def program_in_image(archive: Path) -> tuple[Program, list[Component]]:
    """Return the program in an image, and the Debian packages of its base image. `archive`: a file for docker load."""
    program: Program = {}
    status, copyrights = "", {}
    with tarfile.open(archive) as image:
        for name in json.load(open_member(image, "manifest.json"))[0]["Layers"]:
            with tarfile.open(fileobj=open_member(image, name)) as layer:
                for member in layer:
                    path = member.name.removeprefix("./")
                    inside = path.removeprefix(_INTERNAL)
                    if not member.isfile():
                        continue
                    if path.startswith(_INTERNAL) and ("/" not in inside or inside in (_INVENTORY, _LICENCES)):
                        program[inside] = open_member(layer, member).read()
                    elif path == _DPKG_STATUS:
                        status = open_member(layer, member).read().decode()
                    elif found := _COPYRIGHT.fullmatch(path):
                        copyrights[found[1]] = open_member(layer, member).read().decode(errors="replace")
    return program, list(_debian_packages(status, copyrights))


def _debian_packages(status: str, copyrights: Mapping[str, str]) -> Iterator[Component]:
    """Yield a component for each installed package. `status`: the package database. `copyrights`: texts by name."""
    for paragraph in status.split("\n\n"):
        fields = HeaderParser().parsestr(paragraph)
        if "installed" in (fields["Status"] or "").split():
            url = PackageURL("deb", "debian", fields["Package"], fields["Version"], {"arch": fields["Architecture"]})
            yield _component(url, _licences_in(copyrights.get(fields["Package"], "")))


def _section(texts: str, title: str) -> str:
    """Return the section of svc/licences.txt with this title; "" if there is none."""
    start = f"\n{title}\n{'=' * len(title)}\n\n"
    _, _, rest = f"\n{texts}".partition(start)
    return re.split(r"\n\S+\n=+\n\n", rest, maxsplit=1)[0]


def _licences_in(text: str) -> str:
    """Return the names of the licences in a Debian copyright file, or a reference if the file cannot be parsed."""
    names = sorted({name.strip() for name in re.findall(r"^License: *(\S.*)$", text, re.MULTILINE)})
    return ", ".join(names) or _SEE_TEXTS


def _component(url: PackageURL, licence: str, hashes: Mapping[str, str] | None = None) -> Component:
    """Return a library component. `licence`: an SPDX identifier or expression, or another name."""
    made: License = LicenseFactory().make_from_string(licence or _SEE_TEXTS)
    return Component(
        type=ComponentType.LIBRARY,
        group=url.namespace if url.type == "npm" else None,
        name=url.name,
        version=url.version,
        purl=url,
        bom_ref=url.to_string(),
        licenses=[made],
        hashes=[HashType(alg=HashAlgorithm(name), content=digest) for name, digest in (hashes or {}).items()],
    )
