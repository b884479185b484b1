"""The texts of the licences of everything that PyInstaller puts beside the service, for `svc licences`."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sysconfig
from importlib.metadata import distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from importlib.metadata import Distribution

_TEXT = re.compile(r"licen[sc]e|copying|copyright|notice|authors", re.IGNORECASE)
# Its loader, and what it runs before the program, are in the binary.
_LOADER = ("pyinstaller", "pyinstaller-hooks-contrib")
# What is said of a library of the system where nothing tells its licence: not in what is passed on.
UNKNOWN = "of the system that this was built on; its licence is there"
# Debian tells the licences that many packages have in one place.
_COMMON = Path("/usr/share/common-licenses")


class NoText(Exception):
    """Something would be passed on without the text of its licence; its name."""


def plain(name: str) -> str:
    """A distribution's name as all its spellings have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def texts(root: Path, needed: Collection[str], binaries: Iterable[str]) -> str:
    """All of them, the service's own first.

    `root`: where LICENSE is; `needed`: plain names of the distributions that the service needs; `binaries`: the paths
    of what the program loads, of which those of the system are told by Debian's packages. Raises NoText.
    """
    stdlib = Path(os.__file__).parent
    told = [
        _told(f"svc {version('svc')}", [root / "LICENSE"]),
        _told(f"Python {platform.python_version()}", [stdlib / "LICENSE.txt"]),
    ]
    found = {plain(each.name): each for each in distributions() if plain(each.name) in {*needed, *_LOADER} - {"svc"}}
    told += [_of_distribution(found[name]) for name in sorted(found)]
    told += _of_the_system([Path(path) for path in binaries], stdlib)
    service = find_spec("svc")
    for folder in (service and service.submodule_search_locations) or ():
        for part in ("bundle", "web/dist"):  # what make has built tells what is in it
            told.append(Path(folder, part, "licences.txt").read_text(encoding="utf-8"))
    return "\n".join(told)


def _of_the_system(binaries: Iterable[Path], stdlib: Path) -> list[str]:
    """The texts of the system's packages that have some of these files, and of the licences that they only name."""
    others = [stdlib, *(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))]
    system = [path for path in binaries if not any(path.is_relative_to(folder) for folder in others)]
    package_of = {path.name: _package_of(path) for path in system if not path.name.startswith("libpython")}
    packages = sorted(filter(None, set(package_of.values())))
    told = [_told(package, [Path("/usr/share/doc", package, "copyright")]) for package in packages]
    named = {name.rstrip(".") for text in told for name in re.findall(rf"{_COMMON}/([\w.-]+)", text)}
    whole = sorted({(_COMMON / name).resolve() for name in named})
    told += [_told(path.name, [path]) for path in whole]
    return told + [f"{name}: {UNKNOWN}\n" for name, package in sorted(package_of.items()) if package is None]


def _of_distribution(distribution: Distribution) -> str:
    files = [file for file in distribution.files or [] if ".dist-info" in str(file) and _TEXT.search(str(file))]
    paths = [Path(str(distribution.locate_file(file))) for file in sorted(files)]
    return _told(f"{distribution.name} {distribution.version}", paths)


def _package_of(library: Path) -> str | None:
    """Whose library of the system it is; None: no Debian package tells, as on another system."""
    # By its name alone: the list of files knows it below /lib or below /usr/lib, whichever its package was made for.
    command = ["dpkg-query", "--search", f"*/{library.resolve().name}"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return min(line.partition(":")[0] for line in found.splitlines())


def _told(name: str, files: Iterable[Path]) -> str:
    whole = [file.read_text(encoding="utf-8").strip() for file in files if file.exists()]
    if not any(whole):
        raise NoText(name)
    return "\n".join([name, "=" * len(name), "", *whole, ""])
