"""The licence texts (for `svc licences`) and the inventory of everything that PyInstaller bundles with the service."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sysconfig
from functools import cache
from importlib.metadata import distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from importlib.metadata import Distribution

_TEXT = re.compile(r"licen[sc]e|copying|copyright|notice|authors", re.IGNORECASE)
# The binary contains PyInstaller's loader and startup hooks.
_LOADER = ("pyinstaller", "pyinstaller-hooks-contrib")
# The text for a system library whose licence is unknown. It must not appear in a distributed build.
UNKNOWN = "library of the build system; see its licence there"
# The folder in which Debian stores the licences that many packages share.
_COMMON = Path("/usr/share/common-licenses")


class NoText(Exception):
    """Raised if no licence text was found for a bundled component. The argument names the component."""


def plain(name: str) -> str:
    """Return the normalized name of a distribution, as PyPI compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def texts(root: Path, needed: Collection[str], binaries: Iterable[str]) -> str:
    """Return all licence texts as one text, starting with the licence of the service.

    `root`: the folder with LICENSE. `needed`: normalized names of the distributions that the service needs. `binaries`:
    paths of the libraries that the program loads; Debian's package database provides the licences of system libraries.
    Raises NoText.
    """
    stdlib = Path(os.__file__).parent
    entries = [
        _entry(f"svc {version('svc')}", [root / "LICENSE"]),
        _entry(f"Python {platform.python_version()}", [stdlib / "LICENSE.txt"]),
    ]
    found = {plain(each.name): each for each in distributions() if plain(each.name) in {*needed, *_LOADER} - {"svc"}}
    entries += [_entry_of_distribution(found[name]) for name in sorted(found)]
    entries += _system_entries(_system_packages(binaries))
    service = find_spec("svc")
    for folder in (service and service.submodule_search_locations) or ():
        for part in ("bundle", "web/dist"):  # make writes the licences of the JavaScript packages here
            entries.append(Path(folder, part, "licences.txt").read_text(encoding="utf-8"))
    return "\n".join(entries)


def inventory(binaries: Iterable[str]) -> str:
    """Return, as JSON, the versions of bundled components that requirements.lock does not list.

    `libraries` maps the file name of each system library to the package URL (purl) of its Debian package, or null.
    """
    return json.dumps(
        {
            "python": platform.python_version(),
            **{name: version(name) for name in _LOADER},
            "libraries": {
                name: package and _package_url(package) for name, package in sorted(_system_packages(binaries).items())
            },
        },
        indent=1,
    )


def _package_url(package: str) -> str:
    """Return the package URL of an installed Debian package."""
    command = ["dpkg-query", "--show", "--showformat", "${Version} ${Architecture}\n", package]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    number, architecture = shown.splitlines()[0].split()
    system = platform.freedesktop_os_release()
    distribution = f"{system['ID']}-{system.get('VERSION_ID', 'unstable')}"
    return f"pkg:deb/{system['ID']}/{package}@{quote(number, safe='')}?arch={architecture}&distro={distribution}"


def _system_packages(binaries: Iterable[str]) -> dict[str, str | None]:
    """Return the Debian package of each library that belongs neither to Python nor to an installed Python package."""
    installed = [Path(os.__file__).parent, *(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))]
    system = [path for path in map(Path, binaries) if not any(path.is_relative_to(folder) for folder in installed)]
    return {path.name: _find_package(path) for path in system if not path.name.startswith("libpython")}


def _system_entries(package_of: dict[str, str | None]) -> list[str]:
    """Return the licences of these packages, and the shared licences they refer to."""
    packages = sorted(filter(None, set(package_of.values())))
    entries = [_entry(package, [Path("/usr/share/doc", package, "copyright")]) for package in packages]
    named = {name.rstrip(".") for text in entries for name in re.findall(rf"{_COMMON}/([\w.-]+)", text)}
    shared = sorted({(_COMMON / name).resolve() for name in named})
    entries += [_entry(path.name, [path]) for path in shared]
    return entries + [f"{name}: {UNKNOWN}\n" for name, package in sorted(package_of.items()) if package is None]


def _entry_of_distribution(distribution: Distribution) -> str:
    files = [file for file in distribution.files or [] if ".dist-info" in str(file) and _TEXT.search(str(file))]
    paths = [Path(str(distribution.locate_file(file))) for file in sorted(files)]
    return _entry(f"{distribution.name} {distribution.version}", paths)


@cache
def _find_package(library: Path) -> str | None:
    """Return the Debian package that owns a library; None if there is none, for example on other systems."""
    # Search by name only, because some packages list their libraries below /lib, and others below /usr/lib.
    command = ["dpkg-query", "--search", f"*/{library.resolve().name}"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return min(line.partition(":")[0] for line in found.splitlines())


def _entry(name: str, files: Iterable[Path]) -> str:
    contents = [file.read_text(encoding="utf-8").strip() for file in files if file.exists()]
    if not any(contents):
        raise NoText(name)
    return "\n".join([name, "=" * len(name), "", *contents, ""])
