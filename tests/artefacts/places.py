"""Where artefacts are put to work: fresh Debian trees, and a container under a real runtime. All of it takes root."""

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
# Made once: each takes half a minute, and is the same every time.
_TREES = ROOT / "build/trees"
_TOOLS = ("mmdebstrap", "buildah", "umoci", "runc", "dpkg-deb", "objdump")
# What the image is built on where no registry can be asked: the packages beside Debian's smallest set.
IMAGES = {"python": ("python3", "python3-venv", "libpython3-stdlib", "libpython3-dev", "binutils"), "system": ()}
# The settings by which a test says where a service keeps its files; what is installed knows it by itself.
PLACES = ("SVC_STORE_URL", "SVC_VAULT_KEY_FILE", "SVC_MAIL_FOLDER")
_APT = Path("/etc/apt")


def run(*command: str | Path, **environ: str) -> str:
    """Run a command to its end; what it printed. Raises AssertionError, with what it said, when it fails."""
    ended = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
    return ended.stdout


def what_lacks() -> str:
    """What this machine has not that `make artefacts` needs, and how to get it; empty: nothing."""
    if os.geteuid() or "debian" not in platform.freedesktop_os_release()["ID"]:
        return "make artefacts makes root trees of this machine's own Debian: it needs a Debian, and root"
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    lacks = f"make artefacts needs {', '.join(missing)}: apt-get install mmdebstrap buildah umoci runc binutils"
    return lacks if missing else ""


def new_tree(folder: Path) -> Path:
    """An empty folder becomes the root of a freshly installed Debian, the smallest that there is."""
    folder.mkdir()
    run("tar", "--extract", "--file", _tree("system"), "--directory", folder)
    return folder


def stand_in(name: str) -> str:
    """The name of a local image that is used in place of a public one, one of IMAGES."""
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
        making = archive.with_suffix(".new.tar")
        command: list[str | Path] = ["mmdebstrap", "--quiet", "--variant=minbase", *include, _release(), making, "-"]
        subprocess.run(command, input=_sources(), text=True, check=True)
        making.rename(archive)
    return archive


def _release() -> str:
    return platform.freedesktop_os_release()["VERSION_CODENAME"]


def _sources() -> str:
    """Where this machine has its own Debian from: the project names no mirror."""
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
    """Run shell commands as root of a tree, in its /root; what they printed. It has no `sudo`, so it gets one."""
    path = "PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin"
    return run("chroot", tree, "env", "-i", path, "sh", "-euc", f"{_SUDO}cd /root\n{script}")


def in_tree(tree: Path, user: str, *serve: str) -> Program:
    """A program of a tree, run by a user of it; `serve`: the command, as it is given there."""
    return Program(lambda environ: ["chroot", f"--userspec={user}", tree, *serve])


def container(folder: Path, data: Path) -> Place:
    """The image, unpacked into `folder`, under runc: a root that is read only, no capability, and `data` mounted."""
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
    # The platform, and who asks the service, are on this machine's loopback.
    config["linux"]["namespaces"] = [space for space in spaces if space["type"] != "network"]
    mount = {"destination": "/var/lib/svc", "type": "bind", "source": str(data), "options": ["bind", "rw"]}
    config["mounts"] = [each for each in config["mounts"] if each["destination"] != "/var/lib/svc"] + [mount]
    told, name = process["env"], f"svc-test-{os.getpid()}"

    def command(environ: dict[str, str]) -> list[str]:
        # Where it keeps its files, and that it is to serve, is the image's own affair.
        process["env"] = told + [f"{key}={value}" for key, value in environ.items() if _is_told(key)]
        file.write_text(json.dumps(config))
        return ["sh", "-c", f"exec runc run --bundle '{bundle}' {name}"]

    return Place(Program(command, kill=("runc", "kill", name, "KILL")), data, {})


def _is_told(setting: str) -> bool:
    return setting.startswith("SVC_") and setting not in PLACES
