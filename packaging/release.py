"""Collect the artefacts of a version in dist/svc-VERSION/, with checksums, bills of materials and notes.

`make release` runs `python packaging/release.py VERSION [KEY]`. KEY is the file of an SSH key that signs the
checksums.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING

from build import ARCHITECTURE, BUILD, DIST, FOLDER, ROOT, epoch
from components import (
    IncompleteError,
    bundled_loader,
    javascript_packages,
    program_in_folder,
    program_in_image,
    python_packages,
    runtime,
)
from release_check import Refused, arguments, section_of
from sbom import problem_of, write_bill
from svc.api import openapi

if TYPE_CHECKING:
    from pathlib import Path

    from cyclonedx.model.component import Component

_SUMS = "SHA256SUMS"
# The namespace of the signature. `ssh-keygen -Y verify` must be called with the same namespace.
_NAMESPACE = "file"
# The OpenAPI document is the same for every service, except for the service's URL.
_EXAMPLE_URL = "https://svc.example"


def write(version: str, key: Path | None) -> Path:
    """Replace the folder of the release, and return its path. The artefacts must have been built.

    Raises Refused if an artefact was not built, or if the checksums cannot be signed. Raises IncompleteError if a
    component is missing or differs from its lock file.
    """
    folder = DIST / f"svc-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    bills = _copy_artefacts(folder, version)
    for artefact, components in bills.items():
        write_bill(artefact, version, components, int(epoch()))
    shutil.copyfile(FOLDER / "_internal/svc/licences.txt", folder / f"svc-{version}-licences.txt")
    shutil.copyfile(ROOT / "requirements.lock", folder / f"svc-{version}-requirements.lock")
    document = json.dumps(openapi.document(_EXAMPLE_URL), ensure_ascii=False, indent=1)
    (folder / f"svc-{version}-openapi.json").write_text(f"{document}\n", encoding="utf-8")
    notes = section_of((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    (folder / f"svc-{version}-notes.md").write_text(f"# svc {version}\n\n{notes}\n", encoding="utf-8")
    for bill in folder.glob("*.cdx.json"):
        if problem := problem_of(bill):
            raise IncompleteError(f"{bill.name} is not valid: {problem}")
    names = sorted(path.name for path in folder.iterdir())
    sums = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / _SUMS).write_text("".join(sums))
    if key is not None:
        _sign(folder / _SUMS, key)
    return folder


def _copy_artefacts(folder: Path, version: str) -> dict[Path, list[Component]]:
    """Copy the artefacts into the folder, and return the components of each. Raises Refused or IncompleteError."""
    sources = {
        f"svc-{version}-linux-{ARCHITECTURE}": DIST / "svc",
        f"svc_{version}_{ARCHITECTURE}.deb": DIST / f"svc_{version}_{ARCHITECTURE}.deb",
        f"svc-{version}-image-{ARCHITECTURE}.tar": DIST / "svc-image.tar",
        f"svc-{version}-py3-none-any.whl": DIST / f"svc-{version}-py3-none-any.whl",
    }
    needed = [*sources.values(), FOLDER, BUILD / "image/wheelhouse"]
    if missing := [path.relative_to(ROOT).as_posix() for path in needed if not path.exists()]:
        raise Refused(f"{', '.join(missing)} was not built: run make binary wheel deb image")
    for name, source in sources.items():
        shutil.copyfile(source, folder / name)
    bundle = folder / f"svc-{version}-worker.tar.gz"
    bundle.write_bytes(_packed(ROOT / "svc/bundle", bundle.name.removesuffix(".tar.gz")))

    program = program_in_folder(FOLDER / "_internal")
    program_of_image, base = program_in_image(DIST / "svc-image.tar")
    loader = bundled_loader(program)
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    python = list(python_packages(lock, BUILD / "image/wheelhouse", loader))
    required = [each for each in python if each.name not in loader]
    worker, web = (
        list(javascript_packages((ROOT / path).read_text(encoding="utf-8")))
        for path in ("edge_worker/package-lock.json", "svc/web/package-lock.json")
    )
    shared = [*worker, *web]
    in_folder = [*python, *shared, *runtime(program)]
    binary, deb, image, wheel = sources
    return {
        folder / binary: in_folder,
        folder / deb: in_folder,
        folder / image: [*python, *shared, *runtime(program_of_image), *base],
        folder / wheel: [*required, *shared],
        bundle: worker,
    }


def _packed(source: Path, name: str) -> bytes:
    """Return the files of a folder as a .tar.gz in which `name` is the folder. The same files give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(source.iterdir()):
            member = tarfile.TarInfo(f"{name}/{path.name}")
            content = path.read_bytes()
            member.size, member.mode, member.mtime = len(content), 0o644, int(epoch())
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), 9, mtime=0)


def _sign(file: Path, key: Path) -> None:
    """Write the signature of a file next to it, with `.sig` at the end of its name. Raises Refused."""
    signed = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-n", _NAMESPACE, "-f", key, file], capture_output=True, text=True, check=False
    )
    if signed.returncode:
        raise Refused(f"ssh-keygen cannot sign with {key}: {signed.stderr.strip()}")


if __name__ == "__main__":
    try:
        print(write(*arguments()))
    except (Refused, IncompleteError) as error:
        sys.exit(f"make release: {error}")
