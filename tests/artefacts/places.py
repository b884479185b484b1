"""Environments for artefacts: fresh Debian root file systems, and a container under runc. Both need root."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

from edge_worker.harness.service import Program
from tests.artefacts.journey import Place

ROOT = Path(__file__).parents[2]
# Cached, because each takes half a minute to build.
_TREES = ROOT / "build/trees"
_TOOLS = ("mmdebstrap", "buildah", "umoci", "runc", "dpkg-deb", "objdump", "caddy", "nginx")
# Packages for the local base images. The local images replace the public ones, so that the build needs no registry.
IMAGES = {"python": ("python3", "python3-venv", "libpython3-stdlib", "libpython3-dev", "binutils"), "system": ()}
# The path settings for a service that is not installed. Installed artefacts have their own defaults.
PLACES = ("SVC_STORE_URL", "SVC_VAULT_KEY_FILE", "SVC_MAIL_FOLDER")
_APT = Path("/etc/apt")


def run(*command: str | Path, **environ: str) -> str:
    """Run a command and return its output. Raises AssertionError with the output if it fails."""
    ended = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
    return ended.stdout


def missing_tools() -> str:
    """Return an error message if this host lacks a tool that `make artefacts` needs, otherwise ""."""
    if os.geteuid() or "debian" not in platform.freedesktop_os_release()["ID"]:
        return "make artefacts needs Debian and root, because it builds root file systems of the same release"
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    packages = "mmdebstrap buildah umoci runc binutils caddy nginx-light"
    problem = f"make artefacts needs {', '.join(missing)}; run: apt-get install {packages}"
    return problem if missing else ""


def new_tree(folder: Path) -> Path:
    """Create the root file system of a minimal, fresh Debian installation in a new folder."""
    folder.mkdir()
    run("tar", "--extract", "--file", _tree("system"), "--directory", folder)
    return folder


def stand_in(name: str) -> str:
    """Return the name of a local image that replaces a public one, and build it if needed. `name`: a key of IMAGES."""
    image = f"localhost/svc-test-{name}"
    if not run("buildah", "images", "--noheading", "--quiet", "--filter", f"reference={image}"):
        container = run("buildah", "from", "scratch").strip()
        run("buildah", "add", container, _tree(name), "/")
        run("buildah", "commit", container, image)
        run("buildah", "rm", container)
    return image


def _tree(name: str) -> Path:
    archive = _TREES / f"{name}.tar"
    if not archive.exists():
        _TREES.mkdir(parents=True, exist_ok=True)
        include = [f"--include={','.join(IMAGES[name])}"] if IMAGES[name] else []
        temporary = archive.with_suffix(".new.tar")
        command: list[str | Path] = ["mmdebstrap", "--quiet", "--variant=minbase", *include, _release(), temporary, "-"]
        subprocess.run(command, input=_sources(), text=True, check=True)
        temporary.rename(archive)
    return archive


def _release() -> str:
    return platform.freedesktop_os_release()["VERSION_CODENAME"]


def _sources() -> str:
    """Return the APT sources of this host. With them, the project does not have to choose a mirror."""
    lists = [*_APT.glob("sources.list.d/*.list"), *_APT.glob("sources.list")]
    lines = [line for each in lists for line in each.read_text().splitlines() if f" {_release()}" in line]
    stanzas = [
        "\n".join(line for line in stanza.splitlines() if not line.startswith("#"))
        for each in sorted(_APT.glob("sources.list.d/*.sources"))
        for stanza in each.read_text().split("\n\n")
        if f"Suites: {_release()}" in stanza
    ]
    return "\n\n".join(stanzas) or "\n".join(line for line in lines if line.startswith("deb "))


_SUDO = """sudo() {
    [ "$1" = -u ] || { "$@"; return; }
    user=$2; shift 2
    setpriv --reuid "$user" --regid "$user" --init-groups "$@"
}
"""


def shell(tree: Path, script: str) -> str:
    """Run shell commands as root in a tree, starting in /root. Return their output. `sudo` is a shell function."""
    path = "PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin"
    return run("chroot", tree, "env", "-i", path, "sh", "-euc", f"{_SUDO}cd /root\n{script}")


def in_tree(tree: Path, user: str, *serve: str) -> Program:
    """Return a program that runs the command `serve` with `tree` as its root folder, as a user of that tree."""
    return Program(lambda environ: ["chroot", f"--userspec={user}", tree, *serve])


def container(folder: Path, data: Path) -> Place:
    """Unpack the image into `folder`. Return a place that runs it as a container.

    The container is read-only, has no capabilities, and has `data` mounted.
    """
    archive, bundle = ROOT / "dist/svc-image.tar", folder / "bundle"
    image = run("buildah", "pull", "--quiet", f"docker-archive:{archive}").strip()
    run("buildah", "push", "--quiet", image, f"oci:{folder / 'oci'}:svc")
    run("umoci", "unpack", "--image", f"{folder / 'oci'}:svc", bundle)
    file = bundle / "config.json"
    config = json.loads(file.read_text())
    process = config["process"]
    data.mkdir(mode=0o700)
    os.chown(data, process["user"]["uid"], process["user"]["gid"])
    config["root"]["readonly"] = True
    process |= {"terminal": False, "noNewPrivileges": True, "capabilities": {}}
    spaces = config["linux"]["namespaces"]
    # The emulated platform and the clients use this host's loopback interface.
    config["linux"]["namespaces"] = [space for space in spaces if space["type"] != "network"]
    mount = {"destination": "/var/lib/svc", "type": "bind", "source": str(data), "options": ["bind", "rw"]}
    config["mounts"] = [each for each in config["mounts"] if each["destination"] != "/var/lib/svc"] + [mount]
    image_environ, name = process["env"], f"svc-test-{os.getpid()}"

    def command(environ: dict[str, str]) -> list[str]:
        # Do not set the paths and the command, because the image contains them.
        process["env"] = image_environ + [f"{key}={value}" for key, value in environ.items() if _is_passed(key)]
        file.write_text(json.dumps(config))
        return ["sh", "-c", f"exec runc run --bundle '{bundle}' {name}"]

    return Place(Program(command, kill=("runc", "kill", name, "KILL")), data, {})


def _is_passed(setting: str) -> bool:
    return setting.startswith("SVC_") and setting not in PLACES
